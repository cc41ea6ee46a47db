// A session that a client of ACP over the network leaves and comes back to, with the built programs.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect, type Peer } from "./peer.js";
import { addressOf, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const text = Array.from({ length: 400 }, (_, n) => `w${n} `).join("");

const said = (frames: Peer["frames"]) =>
  frames
    .filter(({ params }) => params?.update?.sessionUpdate === "agent_message_chunk")
    .map(({ params }) => params.update.content.text)
    .join("");

test("a session that a client of acp --connect closes and loads again at once is heard to the end of its next turn", {
  timeout: 60_000,
}, async () => {
  const cwd = scratchTree({ "README.md": "# x\n" });
  const home = scratchTree({});
  const script = join(home, "script.json");
  // Longer than the stream of a closed session stays.
  const turn = { steps: [{ reply: [{ text, chunks: 40, delayMs: 60 }] }] };
  writeFileSync(script, JSON.stringify({ repeat: true, turns: [turn] }));
  const server = startProgram("otter", ["serve", "--port", "0", "--model", `scripted:${script}`], {}, { cwd, home });
  const address = await addressOf(server);
  const peer = connect(startProgram("otter", ["acp", "--connect", address], {}, { cwd, home }));
  await peer.request("initialize", { protocolVersion: 1 });
  const { result } = await peer.request("session/new", { cwd, mcpServers: [] });
  const { sessionId } = result;
  const prompt = [{ type: "text", text: "hello" }];
  const streams = async () =>
    Number(/^otter_streams (\d+)$/m.exec(await (await fetch(`${address}/metrics`)).text())?.[1]);
  for (const turns of [1, 2]) {
    const before = peer.frames.length;
    const answer = await peer.request("session/prompt", { sessionId, prompt });
    expect([turns, answer.result?.stopReason, said(peer.frames.slice(before))]).toEqual([turns, "end_turn", text]);
    await peer.request("session/close", { sessionId });
    // The second time it is loaded when its stream has ended.
    if (turns === 2) await expect.poll(streams, { timeout: 20_000 }).toBe(1);
    const closed = peer.frames.length;
    await peer.request("session/load", { sessionId, cwd, mcpServers: [] });
    expect(said(peer.frames.slice(closed))).toBe(text.repeat(turns));
  }
  // A client that does not wait for each answer.
  const sent = peer.frames.length;
  const closing = peer.request("session/close", { sessionId });
  const loading = peer.request("session/load", { sessionId, cwd, mcpServers: [] });
  const third = await peer.request("session/prompt", { sessionId, prompt });
  expect([(await closing).error, (await loading).error, third.result?.stopReason]).toEqual([
    undefined,
    undefined,
    "end_turn",
  ]);
  expect(said(peer.frames.slice(sent)).length / text.length).toBe(3);
  // A resumed session sends no update a second time.
  await peer.request("session/close", { sessionId });
  await expect.poll(streams, { timeout: 20_000 }).toBe(1);
  const closed = peer.frames.length;
  await peer.request("session/resume", { sessionId, cwd, mcpServers: [] });
  expect((await peer.request("session/prompt", { sessionId, prompt })).result?.stopReason).toBe("end_turn");
  expect(said(peer.frames.slice(closed)).length / text.length).toBe(1);
});
