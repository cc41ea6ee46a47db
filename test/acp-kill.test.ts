// kill -9 in a turn, and a turn cut short by the end of input: everything shown is kept, and no process or file is left behind.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Editor, type LaunchOptions, launch, openSession, textPrompt, updateKind } from "./clients/editor.js";
import { processesWith } from "./clients/processes.js";
import type { Frame } from "./peer.js";

const script = {
  turns: [
    {
      steps: [
        {
          reply: [
            { thought: "First." },
            { text: "An answer. ", chunks: 4 },
            { call: "Read", args: { path: "README.md" } },
          ],
        },
        { reply: [{ text: "Then read.", chunks: 2 }] },
      ],
    },
    {
      steps: [
        {
          reply: [
            { text: "Running it. ", chunks: 3 },
            { call: "Bash", args: { command: "echo started; sleep 300" } },
          ],
        },
      ],
    },
    { steps: [{ reply: [{ text: "As good as new." }] }] },
  ],
};

function editorWith(options: LaunchOptions = {}): Editor {
  const editor = launch("otter", { script, args: ["--no-coalesce"], ...options });
  onTestFinished(() => editor.dispose());
  return editor;
}

/** Runs one turn to its end and a second into the middle of its command. */
async function intoSecondTurn(editor: Editor): Promise<string> {
  const sessionId = await openSession(editor);
  editor.answer(({ method }) =>
    method === "session/request_permission" ? { outcome: { outcome: "selected", optionId: "allow_once" } } : undefined,
  );
  await editor.request("session/prompt", textPrompt(sessionId, "one"));
  editor.start("session/prompt", textPrompt(sessionId, "two"));
  await editor.find((frame) => JSON.stringify(frame).includes("started\\n"));
  return sessionId;
}

const numbered = (frames: readonly Frame[]) =>
  frames.filter(
    (frame) => frame.method === "session/update" && frame.params._meta?.["chimera.dev/eventId"] !== undefined,
  );

/** Without the tail of a running command, which is redrawn only live; a replay has the pieces themselves. */
function withoutTail(frame: Frame): Frame {
  const { content, ...update } = frame.params.update;
  const isTail = updateKind(frame) === "tool_call_update" && update.status === "in_progress" && content !== undefined;
  return isTail ? { ...frame, params: { ...frame.params, update } } : frame;
}

test("killed in a turn: replay by cursor gives every record that was seen, with its id; load shows the conversation", async () => {
  const first = editorWith();
  const sessionId = await intoSecondTurn(first);
  first.child.kill("SIGKILL");
  await first.exited;
  const seen = numbered(first.frames).map(withoutTail);

  const second = editorWith({ home: first.home, cwd: first.cwd });
  await second.request("initialize", { protocolVersion: 1 });
  const replay = await second.request("_chimera.dev/session/replay", { sessionId, sinceEventId: 0 });
  const replayed = numbered(second.frames);
  expect(replayed.slice(0, seen.length + 2).filter((frame) => updateKind(frame) !== "user_message_chunk")).toEqual(
    seen,
  );
  expect(replay.result.lastEventId).toBeGreaterThan(seen.at(-1)?.params._meta["chimera.dev/eventId"]);

  const before = second.frames.length;
  await second.request("session/load", { sessionId, cwd: second.cwd, mcpServers: [] });
  const shown = second.frames.slice(before).filter((frame) => frame.method === "session/update");
  const texts = shown
    .filter((frame) => updateKind(frame)?.endsWith("message_chunk"))
    .map((frame) => `${updateKind(frame)?.split("_")[0]}: ${frame.params.update.content.text}`);
  expect(texts).toEqual(["user: one", "agent: An answer. ", "agent: Then read.", "user: two", "agent: Running it. "]);
  const failed = shown.filter((frame) => frame.params.update.status === "failed");
  expect(failed).toHaveLength(1);

  const { result } = await second.request("session/prompt", textPrompt(sessionId, "three"));
  expect(result.stopReason).toBe("end_turn");
  expect(second.problems()).toEqual([]);
});

test("killed in a turn: nothing that its command started is left", {
  tags: ["needs-setsid", "needs-linux"],
}, async () => {
  const marker = `sleep 4${process.pid % 1000}.5`;
  const editor = editorWith({
    script: {
      turns: [
        {
          steps: [
            { reply: [{ call: "Bash", args: { command: `echo started; ${marker} & setsid ${marker} & ${marker}` } }] },
          ],
        },
      ],
    },
  });
  const sessionId = await openSession(editor);
  editor.answer(({ method }) =>
    method === "session/request_permission" ? { outcome: { outcome: "selected", optionId: "allow_once" } } : undefined,
  );
  editor.start("session/prompt", textPrompt(sessionId, "go"));
  await editor.find((frame) => JSON.stringify(frame).includes("started\\n"));
  expect(processesWith(marker).length).toBeGreaterThan(1);
  editor.child.kill("SIGKILL");
  await editor.exited;
  await expect.poll(() => processesWith(marker), { timeout: 5000 }).toEqual([]);
});

test("the input ends in a turn: exit 0, the turn ended in the journal, no child left", async () => {
  const marker = `sleep 3${process.pid % 1000}.5`;
  const own = editorWith({
    script: {
      turns: [{ steps: [{ reply: [{ call: "Bash", args: { command: `echo started; ${marker}` } }] }] }],
    },
  });
  const sessionId = await openSession(own);
  own.answer(({ method }) =>
    method === "session/request_permission" ? { outcome: { outcome: "selected", optionId: "allow_once" } } : undefined,
  );
  own.start("session/prompt", textPrompt(sessionId, "go"));
  await own.find((frame) => JSON.stringify(frame).includes("started\\n"));
  expect(processesWith(marker).length).toBeGreaterThan(0);
  own.child.stdin.end();
  expect(await own.exited, own.stderr()).toBe(0);
  expect(processesWith(marker)).toEqual([]);
  const folder = join(own.home, "data", "eventlog", sessionId);
  const [segment] = readdirSync(folder).filter((name) => name.startsWith("event-"));
  const last = readFileSync(join(folder, segment!), "utf8").trimEnd().split("\n").at(-1);
  expect(JSON.parse(last!)).toMatchObject({ type: "cancelled", turn: 0 });
});

test("SIGTERM in a turn ends it the same way", async () => {
  const editor = editorWith();
  const sessionId = await intoSecondTurn(editor);
  editor.child.kill("SIGTERM");
  expect(await editor.exited, editor.stderr()).toBe(0);
  const summary = JSON.parse(readFileSync(join(editor.home, "data", "eventlog", sessionId, "summary.json"), "utf8"));
  expect(summary).toMatchObject({ turns: 2, success: false });
});
