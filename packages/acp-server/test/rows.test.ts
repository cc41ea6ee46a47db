import { expect, test } from "vitest";
import type { Traits } from "../src/index.js";
import { METHODS } from "../src/standard/methods.js";
import { connect, makeEngine, saying } from "./harness.js";

test("initialize names exactly the capabilities and own methods that the rows have", async () => {
  const client = connect(makeEngine(saying("x")));
  const { result } = await client.call("initialize", { protocolVersion: 1 });
  const { sessionCapabilities, _meta } = result!["agentCapabilities"] as unknown as {
    sessionCapabilities: object;
    _meta: { "chimera.dev/methods": string[] };
  };
  const named = Object.values<Traits>(METHODS).flatMap(({ capability }) => capability ?? []);
  expect(Object.keys(sessionCapabilities).sort()).toEqual(["additionalDirectories", ...named].sort());
  const own = Object.keys(METHODS).filter((name) => name.startsWith("_"));
  expect(_meta["chimera.dev/methods"].sort()).toEqual(own.sort());
});

test("one prompt more than a session queues is refused with a retryable error", async () => {
  const stop = new AbortController();
  const core = makeEngine(async function* () {
    await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
  });
  const client = connect(core);
  await client.call("initialize", { protocolVersion: 1 });
  const { result } = await client.call("session/new", { cwd: "/", mcpServers: [] });
  const { sessionId } = result as unknown as { sessionId: string };
  const prompt = { sessionId, prompt: [{ type: "text", text: "wait" }] };
  const answers = Array.from({ length: 200 }, () => client.start("session/prompt", prompt).answer);
  const { error } = await answers.at(-1)!;
  expect(error?.data).toMatchObject({ code: "queue_full", retryable: true });
  stop.abort();
});
