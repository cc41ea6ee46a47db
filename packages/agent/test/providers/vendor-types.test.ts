/**
 * The compiler checks the requests of each wire against the types of the vendor's own SDK: a body that does not fit does not compile.
 */
import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { Content, FunctionDeclaration, ThinkingConfig } from "@google/genai";
import type { ChatRequest } from "ollama";
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { ResponseCreateParamsStreaming } from "openai/resources/responses/responses";
import { expectTypeOf, it } from "vitest";
import type { ChatBody } from "../../src/providers/wires/chat.js";
import type { GeminiBody } from "../../src/providers/wires/gemini.js";
import type { MessagesBody } from "../../src/providers/wires/messages/request.js";
import type { OllamaBody } from "../../src/providers/wires/ollama.js";
import type { ResponsesBody } from "../../src/providers/wires/responses.js";

it("requests fit the vendors' own types", () => {
  expectTypeOf<MessagesBody>().toExtend<MessageCreateParamsStreaming>();
  expectTypeOf<ChatBody>().toExtend<ChatCompletionCreateParamsStreaming>();
  expectTypeOf<ResponsesBody>().toExtend<ResponseCreateParamsStreaming>();
  expectTypeOf<OllamaBody>().toExtend<ChatRequest>();
  // Google's SDK has types only for the parts of a body.
  expectTypeOf<GeminiBody["contents"]>().toExtend<Content[]>();
  expectTypeOf<NonNullable<GeminiBody["tools"]>[number]["functionDeclarations"]>().toExtend<FunctionDeclaration[]>();
  type Thinking = NonNullable<GeminiBody["generationConfig"]>["thinkingConfig"];
  expectTypeOf<Omit<Thinking, "thinkingLevel">>().toExtend<ThinkingConfig>();
  expectTypeOf<NonNullable<Thinking["thinkingLevel"]>>().toExtend<`${NonNullable<ThinkingConfig["thinkingLevel"]>}`>();
});
