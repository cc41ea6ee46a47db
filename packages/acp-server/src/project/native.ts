/** How a native dialect shows records: which of them, and the params of each beside the session and event id. */
import type { SessionRecord } from "@chimera/acp-schema/events";

export interface NativeProjection {
  /** The record types that notify, one update each. */
  readonly types: ReadonlySet<string>;
  params(record: SessionRecord): object;
}
