/** What a program adds to the protocol without touching it: config options in standard ACP, rows and flags in its own dialect. */
import type { Methods } from "@chimera/ndjson-rpc";
import type { Session } from "@chimera/session";
import type { Choice, ConnectionContext } from "./context.js";

export interface ExtensionOption {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly choices: readonly Choice[];
  current(session: Session): string;
  /** Absent for an option that can only be read. `origin` goes into the log. Resolves when the change is durable. */
  set?(session: Session, value: string, origin?: string): Promise<void>;
}

export interface Extension {
  readonly name: string;
  readonly options?: readonly ExtensionOption[];
  /** Flags of the native `capabilities` block. */
  readonly capabilities?: Readonly<Record<string, boolean>>;
  /** Rows of the native dialect. */
  methods?(context: ConnectionContext): Methods;
}
