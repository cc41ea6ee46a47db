/** What a check of `doctor` found, and what to do about it. */
import type { Invocation } from "@chimera/host";

export interface Finding {
  readonly state: "ok" | "warn" | "fail";
  readonly found: string;
  readonly remedy?: string;
}

export type Check = (invocation: Invocation) => Promise<Finding>;

export const ok = (found: string): Finding => ({ state: "ok", found });
export const warn = (found: string, remedy: string): Finding => ({ state: "warn", found, remedy });
export const fail = (found: string, remedy: string): Finding => ({ state: "fail", found, remedy });
