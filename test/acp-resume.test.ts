// Resuming a native session from a cursor.
import { expect, test } from "vitest";
import { nativePeer, type Peer, updatesOf } from "./peer.js";

async function sessionWithHistory(peer: Peer): Promise<{ sessionId: string; last: number }> {
  const { result } = await peer.request("session/new", { cwd: peer.program.cwd });
  await peer.request("session/message", { sessionId: result.sessionId, message: "list files and read README" });
  return { sessionId: result.sessionId, last: updatesOf(peer, result.sessionId).length };
}

/** Resumes, and gives the reply with the frames that came before it. */
async function resume(peer: Peer, sessionId: string, cursor: object) {
  const before = updatesOf(peer, sessionId).length;
  const { result } = await peer.request("session/resume", { sessionId, ...cursor });
  return { result, replayed: updatesOf(peer, sessionId).slice(before) };
}

test("every update above the cursor is sent again, unchanged", async () => {
  const peer = await nativePeer("otter");
  const { sessionId, last } = await sessionWithHistory(peer);
  const live = updatesOf(peer, sessionId);
  const { result, replayed } = await resume(peer, sessionId, { sinceEventId: 2 });
  expect(replayed).toEqual(live.slice(2));
  expect(result).toEqual({ sessionId, replayed: last - 2, lastEventId: last, truncated: false });
});

const cursors: [cursor: string, params: object, replayed: "all" | "none"][] = [
  ["0", { sinceEventId: 0 }, "all"],
  ["no cursor", {}, "all"],
  ["a negative one", { sinceEventId: -3 }, "all"],
  ["a word", { sinceEventId: "soon" }, "all"],
  ["a fraction", { sinceEventId: 1.5 }, "all"],
  ["null", { sinceEventId: null }, "all"],
  ["one past the end", { sinceEventId: 1_000_000 }, "none"],
];

test.each(cursors)("%s is taken as documented", async (_cursor, params, amount) => {
  const peer = await nativePeer("otter");
  const { sessionId, last } = await sessionWithHistory(peer);
  const { result } = await resume(peer, sessionId, params);
  expect(result).toMatchObject({ replayed: amount === "all" ? last : 0, lastEventId: last });
});
