/** Models that repeat a refused request in another way before the reply has begun: without pictures, or at another endpoint. */
import type { PromptBlock } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { isAgentError } from "../errors.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest } from "./model.js";

/** Yields the items of `open`. If the first item fails and `again` returns true, opens it again. Later items cost nothing extra. */
export function beginAgain<T>(
  open: () => AsyncIterable<T> | Promise<AsyncIterable<T>>,
  again: (error: unknown) => boolean,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      let inner: AsyncIterator<T> | null = null;
      let begun = false;
      let rounds = 1;
      const begin = async (): Promise<IteratorResult<T>> => {
        for (;;) {
          const opened = open();
          inner = (opened instanceof Promise ? await opened : opened)[Symbol.asyncIterator]();
          try {
            const first = await inner.next();
            begun = true;
            return first;
          } catch (error) {
            if (rounds++ >= MOST_ROUNDS || !again(error)) throw error;
          }
        }
      };
      return {
        next: () => (begun && inner ? inner.next() : begin()),
        return: async () => (await inner?.return?.()) ?? { value: undefined, done: true },
      };
    },
  };
}

/**
 * Replaces pictures by sentences for a model that cannot see. A refusal that mentions pictures marks the model as such. A refusal
 * without a reason may be due to a picture too: the request is repeated without pictures, and if that helps, the session stays so.
 */
export function withSight(model: Model): Model {
  let blind = model.sees === false;
  /** Sessions that continue without pictures after a refusal. */
  const spared = new Set<string>();
  return {
    ...model,
    stream(request) {
      if (!request.messages.some(hasPicture)) return model.stream(request);
      const { session = "" } = request;
      let [sent, guessed] = [false, false];
      const ask = () => {
        sent = !blind && !spared.has(session);
        return model.stream(sent ? request : withoutPictures(request));
      };
      return beginAgain(ask, (error) => {
        if (!sent) {
          // The request failed without pictures too, so they were not the reason.
          if (guessed) spared.delete(session);
          return false;
        }
        if (!isAgentError(error)) return false;
        blind ||= CANNOT_SEE.test(error.message);
        if (blind || error.code !== "bad_request") return blind;
        if (spared.size >= MOST_SPARED) spared.clear();
        spared.add(session);
        guessed = true;
        return true;
      });
    },
  };
}

/** `first` answers until it refuses a request with a message that matches `when`. From then on the model of `other` answers. */
export function createSwitch(first: Model, when: RegExp, other: () => Promise<Model>): Model {
  let moved: Promise<Model> | null = null;
  return {
    ...first,
    stream(request) {
      let asked = first;
      const askOther = async (): Promise<AsyncIterable<readonly ModelEvent[]>> => {
        asked = (await moved) ?? first;
        return asked.stream(request);
      };
      const ask = () => (moved ? askOther() : first.stream(request));
      return beginAgain(ask, (error) => {
        if (asked !== first || !isAgentError(error) || error.retryable || !when.test(error.message)) return false;
        // Another request may have opened the other model meanwhile.
        moved ??= other().catch((failure: unknown) => {
          moved = null;
          throw failure;
        });
        return true;
      });
    },
  };
}

// --- internal ---

/** How often a stream is opened. More refusals than a request has parts to give up would have no end. */
const MOST_ROUNDS = 12;
const MOST_SPARED = 256;

/** Vendors' messages for a model that cannot see. `test/providers/sight.test.ts` names the source of each. */
const CANNOT_SEE = new RegExp(
  [
    "image(?:s|_url|\\W+inputs?)?\\W.{0,40}(?:not supported|unsupported|only supported by|not enabled)",
    "(?:not|n't|un) ?support.{0,40}\\b(?:image|vision|multi-?modal)",
    "no endpoints found that support image",
    "(?:unknown variant|unsupported content part type:) \\W?image_url",
    "variant of untagged enum \\w*content",
    "not a multi-?modal model",
    "(?:content must be|sequence, expected) a string",
  ].join("|"),
  "i",
);

function hasPicture(message: ModelMessage): boolean {
  if (message.role === "tool") return Boolean(message.images?.length);
  return message.role === "user" && Boolean(message.content?.some(isPictureBlock));
}

function isPictureBlock(block: PromptBlock): boolean {
  return block.type === "image";
}

function withoutPictures(request: ModelRequest): ModelRequest {
  return {
    ...request,
    messages: request.messages.map((message) => (hasPicture(message) ? inWords(message) : message)),
  };
}

function inWords(message: ModelMessage): ModelMessage {
  if (message.role === "tool") {
    const { images = [], ...rest } = message;
    return { ...rest, output: [message.output, ...images.map(sentence)].filter(Boolean).join("\n") };
  }
  if (message.role !== "user" || !message.content) return message;
  const content = message.content.map((block) =>
    isPictureBlock(block) ? { type: "text" as const, text: sentence(block as { mimeType?: unknown }) } : block,
  );
  return { ...message, content };
}

function sentence({ mimeType }: { readonly mimeType?: unknown }): string {
  return `[A picture (${startOf(String(mimeType), 80)}) is here that you cannot see: say so if it matters, and ask for it in words.]`;
}
