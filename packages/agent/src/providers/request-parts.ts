/** What the requests of all wires are made of: a person's prompt as text and pictures, and a call as the model wrote it. */
import type { CallPart, Json, PromptBlock } from "@chimera/acp-schema/events";
import { callsOf } from "@chimera/acp-schema/parts";
import { startOf } from "@chimera/acp-schema/text";
import { isJsonObject, type JsonObject, parseObject } from "../json.js";
import { isPicture, type ToolImage } from "../tool.js";
import type { ModelMessage } from "./model.js";

export type PromptPart = { readonly type: "text"; readonly text: string } | ({ readonly type: "image" } & ToolImage);

/** Blocks that are neither text nor a picture are named in words, so that the model knows they were there. */
export function promptParts(prompt: {
  readonly text: string;
  readonly content?: readonly PromptBlock[];
}): PromptPart[] {
  const parts = prompt.content?.length ? prompt.content.map(partOf) : [{ type: "text" as const, text: prompt.text }];
  const said = parts.filter((part) => part.type !== "text" || part.text.trim() !== "");
  return said.length > 0 ? said : [{ type: "text", text: "(empty prompt)" }];
}

/** Pictures that tools brought, as a person's message. */
export interface PicturesMessage {
  readonly role: "pictures";
  readonly parts: readonly PromptPart[];
}

/** For wires whose results are text: results follow their calls without a gap, so pictures wait for the last one of a group. */
export function* withPictures(messages: readonly ModelMessage[]): Generator<ModelMessage | PicturesMessage> {
  let parts: PromptPart[] = [];
  for (const message of messages) {
    if (message.role !== "tool" && parts.length > 0) {
      yield { role: "pictures", parts };
      parts = [];
    }
    yield message;
    if (message.role !== "tool" || !message.images?.length) continue;
    parts.push({ type: "text", text: `Pictures from ${message.name}:` });
    parts.push(...message.images.map((image) => ({ type: "image" as const, ...image })));
  }
  if (parts.length > 0) yield { role: "pictures", parts };
}

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

// --- internal ---

/** A call as the model wrote it: providers compare, cache or sign these words, so a call's seal keeps them. */
interface WrittenCall {
  readonly name: string;
  /** JSON text. */
  readonly args: string;
  /** The same as a value. */
  readonly input: JsonObject;
  /** What the wire sealed the call with. */
  readonly own: JsonObject;
}

function partOf(block: PromptBlock): PromptPart {
  const { type, text, data, mimeType, uri, resource } = block as Record<string, unknown>;
  if (type === "text") return { type: "text", text: String(text ?? "") };
  if (type === "image") {
    const image = { mimeType, data };
    if (isPicture(image)) return { type, ...image };
    return { type: "text", text: `[a picture that cannot be shown: ${startOf(String(mimeType), 80)}]` };
  }
  if (type === "resource" && typeof resource === "object" && resource !== null) {
    const embedded = resource as Record<string, unknown>;
    if (typeof embedded["text"] === "string") {
      return {
        type: "text",
        text: `<file path=${JSON.stringify(embedded["uri"] ?? "")}>\n${embedded["text"]}\n</file>`,
      };
    }
    return { type: "text", text: `[resource: ${String(embedded["uri"] ?? "unnamed")}]` };
  }
  if (typeof uri === "string") return { type: "text", text: `[resource: ${uri}]` };
  return { type: "text", text: `[${String(type)}]` };
}
