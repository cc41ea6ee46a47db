/** The handshake of ferret: otter's, with three more capabilities an editor can draw controls for. */
import * as v from "valibot";
import { plain } from "../define/shape.js";
import {
  Capabilities as OtterCapabilities,
  InitializeResponse as OtterInitializeResponse,
} from "../otter/initialize.js";

/** What ferret answers unless the client asked for revision 2. */
export const FERRET_PROTOCOL_VERSION = "0.2";

export const Capabilities = plain(() => ({
  ...OtterCapabilities.entries,
  sandbox: v.boolean(),
  approval: v.boolean(),
  streaming: v.boolean(),
  cancellation: v.boolean(),
  bridge: v.boolean(),
}));

export const InitializeResponse = plain(() => ({ ...OtterInitializeResponse.entries, capabilities: Capabilities }));
