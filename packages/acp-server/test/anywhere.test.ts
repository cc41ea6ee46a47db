// A client of this process uses sessions that another process has loaded.
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore } from "@chimera/event-store";
import { createCallAnswerer, sessionsAnywhere } from "@chimera/session/anywhere";
import { expect, test, vi } from "vitest";
import { connect, makeEngine, saying } from "./harness.js";

/** A promise that the test settles by hand. */
function settable() {
  let resolve = (): void => {};
  let reject = (_error: Error): void => {};
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

test("a prompt is answered even if the log becomes unreadable before the other process reports that it took the prompt", async () => {
  const store = createMemoryStore<SessionEvent, Summary>();
  // Its turn lasts until it is cancelled.
  const there = makeEngine(
    async function* (_turn, { signal }) {
      yield { type: "text_delta", metadata: { text: "working" } };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    { store },
  );
  const here = makeEngine(saying("done here"), { store });
  const answer = createCallAnswerer(there.sessions);
  const taken = settable();
  const reported = settable();
  const unreadable = settable();
  const sessions = sessionsAnywhere(here.sessions, {
    async ask(_id, request) {
      const { call } = JSON.parse(request);
      const reply = await answer(call);
      if (call.method !== "prompt") return reply;
      taken.resolve();
      await reported.promise;
      return reply;
    },
  });
  const follow: typeof sessions.logs.follow = (...args) => {
    const subscription = sessions.logs.follow(...args);
    return { ...subscription, ended: Promise.race([subscription.ended, unreadable.promise]) };
  };
  const { id } = await there.sessions.create({ cwd: "/" });
  const logged: string[] = [];
  const client = connect(
    { ...here, sessions: { ...sessions, logs: { ...sessions.logs, follow } } },
    { log: { debug() {}, warn: (message) => void logged.push(message) } },
  );
  await client.call("initialize", { protocolVersion: 1, clientCapabilities: {} });
  await client.call("session/load", { sessionId: id, cwd: "/", mcpServers: [] });
  const prompt = [{ type: "text", text: "hi" }];
  const sent = client.start("session/prompt", { sessionId: id, prompt });
  await taken.promise;
  unreadable.reject(new Error("the disk is gone"));
  await vi.waitUntil(() => logged.length > 0, { timeout: 10_000 });
  reported.resolve();
  // The turn runs on there, so it is not cancelled.
  expect((await sent.answer).error).toMatchObject({ data: { code: "outcome_unknown" } });
});
