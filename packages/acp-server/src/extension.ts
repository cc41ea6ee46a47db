/** What a program adds to the protocol without touching it: config options in standard ACP, rows and flags in its own dialect. */
import type { Methods } from "@chimera/ndjson-rpc";
import type { ConnectionContext } from "./context.js";
import type { SessionOption } from "./core.js";

export interface Extension {
  readonly name: string;
  readonly options?: readonly SessionOption[];
  /** Flags of the native `capabilities` block. */
  readonly capabilities?: Readonly<Record<string, boolean>>;
  /** Rows of the native dialect. */
  methods?(context: ConnectionContext): Methods;
}
