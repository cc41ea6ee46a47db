// Both programs as an editor sees them: driven by the official ACP client over stdio.
import { Readable, Writable } from "node:stream";
import { type ContentBlock, client, ndJsonStream, type SessionUpdate } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { startProgram } from "./program.js";

/** Shakes hands, opens a session, sends one prompt, closes stdin and waits for the end. */
async function converse(name: "otter" | "ferret", args: readonly string[]) {
  const program = startProgram(name, [...args]);
  const updates: SessionUpdate[] = [];
  let stdout = "";
  program.child.stdout.on("data", (bytes) => {
    stdout += String(bytes);
  });
  const input = Readable.toWeb(program.child.stdout) as ReadableStream<Uint8Array>;
  const output = Writable.toWeb(program.child.stdin) as WritableStream<Uint8Array>;
  const { agent } = client()
    .onNotification("session/update", ({ params }) => void updates.push(params.update))
    .connect(ndJsonStream(output, input));
  const clientInfo = { name: "editor", version: "1.0.0" };
  const hello = await agent.request("initialize", { protocolVersion: 1, clientInfo, clientCapabilities: {} });
  const session = await agent.request("session/new", { cwd: program.cwd, mcpServers: [] });
  const prompt: ContentBlock[] = [{ type: "text", text: "list files and read README" }];
  const reply = await agent.request("session/prompt", { sessionId: session.sessionId, prompt });
  const seenAtReply = updates.length;
  program.child.stdin.end();
  const code = await program.exited;
  return { hello, session, reply, updates, seenAtReply, code, stdout, stderr: program.stderr() };
}

const programs = [
  ["otter", ["serve", "--acp"]],
  ["otter", ["acp"]],
  ["ferret", ["serve"]],
] as const;

describe.each(programs)("%s %j", (name, args) => {
  let conversation: ReturnType<typeof converse> | undefined;
  const conversed = () => {
    conversation ??= converse(name, args);
    return conversation;
  };

  test("the official client completes a turn", async () => {
    expect((await conversed()).reply.stopReason).toBe("end_turn");
  });

  test("initialize answers version, capabilities and who it is", async () => {
    const { hello } = await conversed();
    expect(hello).toMatchObject({ protocolVersion: 1, agentInfo: { name }, agentCapabilities: { loadSession: true } });
  });

  test("session/new answers an id that names the program", async () => {
    expect((await conversed()).session.sessionId).toMatch(new RegExp(`^${name}-\\d{8}T\\d{6}-[0-9a-f]{8}$`));
  });

  test("text streams as agent_message_chunk", async () => {
    const { updates } = await conversed();
    const chunks = updates.filter((update) => update.sessionUpdate === "agent_message_chunk");
    expect(chunks.map(({ content }) => (content.type === "text" ? content.text : "")).join("")).toContain(
      "A workspace",
    );
  });

  test("each tool call starts and is completed", async () => {
    const { updates } = await conversed();
    const started = updates.filter((update) => update.sessionUpdate === "tool_call");
    const completed = updates.filter(
      (update) => update.sessionUpdate === "tool_call_update" && update.status === "completed",
    );
    expect(started.map((call) => call.title).join("\n")).toContain("README");
    expect(completed).toHaveLength(started.length);
  });

  test("no update comes after the reply", async () => {
    const { updates, seenAtReply } = await conversed();
    expect(updates).toHaveLength(seenAtReply);
  });

  test("the process exits 0 when stdin closes", async () => {
    const { code, stderr } = await conversed();
    expect(code, stderr).toBe(0);
  });

  test("every stdout line is a frame", async () => {
    const { stdout } = await conversed();
    expect(stdout).toMatch(/\n$/);
    for (const line of stdout.trimEnd().split("\n")) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
  });
});
