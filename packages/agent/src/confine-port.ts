/** The confinement port: a sandbox implements it to confine the processes of tools and MCP servers. */
import type { Workspace } from "@chimera/acp-schema/agent";

export type Confine = (request: ConfineRequest) => Confinement | Promise<Confinement>;

export interface ConfineRequest {
  /** A command line for a shell. */
  readonly command: string;
  readonly cwd: string;
  /** `own` is the directory in which the started program keeps its state. */
  readonly workspace: Pick<Workspace, "cwd" | "directories"> & { readonly own?: string };
  /** Variables in addition to those that every command gets. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the program needs the network, as an engine does to reach its model. */
  readonly network?: boolean;
}

/** What to spawn instead of a plain shell, or why nothing may be spawned. */
export type Confinement = Bounds | Refused;

export interface Bounds {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The working directory of the spawned program. @defaultValue the directory of the request */
  readonly cwd?: string;
  /** Open descriptors that it inherits, numbered from 3. */
  readonly descriptors?: readonly number[];
  /** Called once the process has ended. */
  release?(): void;
  /** Judges a command that has ended: how it broke the bounds, or was stopped by them according to its stderr; null for neither. */
  violation?(stderr: string, failed: boolean): BrokenBounds | null | Promise<BrokenBounds | null>;
  /** The name of these bounds, for the log. */
  readonly mode?: string;
}

export interface BrokenBounds {
  readonly reason: string;
  /** The path that it could not write, or that it wrote but should not have. */
  readonly path?: string;
}

export interface Refused {
  readonly refused: string;
  readonly mode?: string;
}
