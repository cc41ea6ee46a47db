/**
 * A call as the model wrote it. It runs under the tool's own name and with parsed arguments, but a provider compares, caches or signs
 * the words that it sent: where they differ, the seal of the call keeps them.
 */
import type { CallPart, Json } from "@chimera/acp-schema/events";
import { isJsonObject, type JsonObject, parseObject } from "../json.js";

/** A name that every provider takes. */
const SENDABLE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What to seal a call with; undefined when there is nothing that the call itself does not say. */
export function sealOfCall(
  written: { readonly name: string; readonly args: string; readonly seal?: Json | undefined },
  call: Pick<CallPart, "name" | "args">,
): Json | undefined {
  const { name, args, seal: own } = written;
  const data = {
    ...(name !== call.name && SENDABLE_NAME.test(name) && { name }),
    ...(args !== JSON.stringify(call.args) && parseObject(args) && { args }),
    ...(own !== undefined && { own }),
  };
  return Object.keys(data).length > 0 ? data : undefined;
}

export interface WrittenCall {
  readonly name: string;
  /** JSON text. */
  readonly args: string;
  /** The same as a value. */
  readonly input: JsonObject;
  /** What the wire sealed the call with. */
  readonly own: JsonObject;
}

/** What to send back. Nothing is taken on trust: a log may have been imported. */
export function writtenCall({ name, args, seal }: CallPart): WrittenCall {
  const data: JsonObject = isJsonObject(seal?.data) ? seal.data : {};
  const { name: called, args: text, own } = data;
  const input = typeof text === "string" ? parseObject(text) : null;
  return {
    name: typeof called === "string" && SENDABLE_NAME.test(called) ? called : name,
    args: input ? (text as string) : JSON.stringify(args),
    input: input ?? args,
    own: isJsonObject(own) ? own : {},
  };
}
