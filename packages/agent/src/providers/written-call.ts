/**
 * A call as the model wrote it. It runs under the tool's own name and with parsed arguments, but a provider compares, caches or signs
 * the words that it sent: where they differ, the seal of the call keeps them.
 */
import type { CallPart, Json } from "@chimera/acp-schema/events";
import { callsOf } from "@chimera/acp-schema/parts";
import { isJsonObject, type JsonObject, parseObject } from "../json.js";
import type { ModelMessage } from "./model.js";

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

/** How the results of calls name them, by the id of each call: as the model did, and with its own id where it gave one. */
export function calledBy(messages: readonly ModelMessage[]): Map<string, { name: string; id?: string }> {
  const called = new Map<string, { name: string; id?: string }>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const part of callsOf(message)) called.set(part.id, ownName(writtenCall(part)));
  }
  return called;
}

/** A call's name, and the id that the model gave it: some give none, and are not sent one. */
export function ownName({ name, own }: WrittenCall): { name: string; id?: string } {
  return { name, ...(typeof own["id"] === "string" && { id: own["id"] }) };
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
