/** The confinement port: how the processes of tools and of MCP servers are kept in bounds. A sandbox fits in here. */
import type { Workspace } from "@chimera/acp-schema/agent";

export type Confine = (request: ConfineRequest) => Confinement | Promise<Confinement>;

export interface ConfineRequest {
  /** A command line for a shell. */
  readonly command: string;
  readonly cwd: string;
  /** `own` is where the program that is started keeps its state. */
  readonly workspace: Pick<Workspace, "cwd" | "directories"> & { readonly own?: string };
  /** Variables it needs besides those that every command gets. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it cannot do without the network: an engine, whose model is there. */
  readonly network?: boolean;
}

/** What to spawn in place of a plain shell, or why not to. */
export type Confinement = Bounds | Refused;

export interface Bounds {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where the spawned program starts. @defaultValue the directory of the request */
  readonly cwd?: string;
  /** Open descriptors that it inherits, the first as number 3. */
  readonly descriptors?: readonly number[];
  /** Called once the process has ended. */
  release?(): void;
  /** How a command that has ended broke the bounds, or was stopped by them as its errors show; null when it did neither. */
  violation?(stderr: string, failed: boolean): BrokenBounds | null | Promise<BrokenBounds | null>;
  /** The name of these bounds, for the log. */
  readonly mode?: string;
}

export interface BrokenBounds {
  readonly reason: string;
  /** What it could not write, or wrote and should not have. */
  readonly path?: string;
}

export interface Refused {
  readonly refused: string;
  readonly mode?: string;
}
