import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { orElse } from "../or-else.js";

/** The process that holds a claim: enough to prove, on the same machine, that it is gone. Null where the platform does not say. */
export interface Holder {
  readonly instance: string;
  readonly pid: number;
  /** The process's start time in clock ticks since boot: a later process with the same pid has another one. */
  readonly start: string | null;
  readonly boot: string | null;
  readonly pidns: string | null;
  readonly host: string;
  /** The program's name, and when it took the claim, as ISO 8601; claims of version 0.1 have neither. */
  readonly program?: string;
  readonly since?: string;
}

/**
 * Describes a holder to a person who has to find it.
 *
 * @example
 * if (isStoreError(error)) console.error(describeHolder(error.holder));
 */
export function describeHolder(holder: Holder | undefined): string {
  if (holder === undefined || holder.pid === 0) return "another process";
  const { program, pid, host, since } = holder;
  return `${program ? `${program}, ` : ""}process ${pid} on ${host}${since ? `, since ${since}` : ""}`;
}

/** Describes this process under the given name. */
export function describeSelf(instance: string, program?: string): Holder {
  const start = startTicks(process.pid) ?? null;
  const self = { instance, pid: process.pid, start, boot: bootId(), pidns: pidNamespace(), host: hostname() };
  return program === undefined ? self : { ...self, program };
}

/** True when the holder has certainly ended. False means only that this process cannot prove it. */
export function isProvenDead(holder: Holder, self: Holder): boolean {
  if (holder.boot !== null && self.boot !== null) {
    if (holder.boot !== self.boot) return holder.host === self.host;
    if (holder.pidns === null || holder.pidns !== self.pidns) return false;
    const start = startTicks(holder.pid);
    return start === undefined || (holder.start !== null && start !== holder.start);
  }
  return holder.host === self.host && !exists(holder.pid);
}

/** When a process started, in ticks since boot. Undefined when there is no such process, null when the platform does not say. */
export function startTicks(pid: number): string | null | undefined {
  const stat = orElse(() => readFileSync(`/proc/${pid}/stat`, "latin1"), null);
  if (stat === null) return exists(pid) ? null : undefined;
  // The command name may hold spaces and parentheses; the fields after it do not.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : (fields[19] ?? null);
}

export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

export function bootId(): string | null {
  return orElse(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), null);
}

export function pidNamespace(): string | null {
  return orElse(() => readlinkSync("/proc/self/ns/pid"), null);
}
