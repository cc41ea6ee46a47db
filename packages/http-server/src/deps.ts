/** What an app is made of. */
import type { ServerResponse } from "node:http";
import type { Sessions, SlashPalette } from "@chimera/session";

export interface AppDeps {
  /** The program's name: otter, ferret. */
  readonly name: string;
  readonly version: string;
  readonly sessions: Sessions;
  readonly palette: SlashPalette;
  /** Where sessions run when a request names no directory. */
  readonly defaultCwd: string;
  readonly clock?: () => number;
  readonly log?: (message: string, fields?: Record<string, unknown>) => void;
}

/** Under Node the response itself is at hand, and event streams are written straight to it. */
export interface AppEnv {
  Bindings: { outgoing?: ServerResponse };
}
