// The parts of the extension that need no window, with the built programs.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Agent, type Reply, startAgent, type Update } from "../src/agent.js";
import { createConversation, wantedOf } from "../src/conversation.js";
import { createEdits } from "../src/edits.js";

const root = join(import.meta.dirname, "..", "..", "..");

function folder(files: Record<string, string> = {}): string {
  const path = mkdtempSync(join(tmpdir(), "chimera-vscode-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const turn = (...reply: object[]) => ({
  steps: [...reply.map((part) => ({ reply: [part] })), { reply: [{ text: "Done." }] }],
});

/** The program that `chimera.command` starts, with a script for its model. */
async function begin(program: "otter" | "ferret", turns: object[], reply: Reply = { decision: "allow" }) {
  const cwd = folder({ "README.md": "one\ntwo\nthree\n" });
  const script = join(folder({ "script.json": JSON.stringify({ turns }) }), "script.json");
  const updates: Update[] = [];
  const ends: (string | null)[] = [];
  const args = ["serve", ...(program === "otter" ? ["--acp"] : ["--approval", "auto", "--sandbox", "workspace-write"])];
  const conversation = createConversation();
  const agent: Agent = await startAgent({
    command: process.execPath,
    args: [join(root, "apps", program, "dist", "cli.js"), ...args, "--model", `scripted:${script}`],
    cwd,
    version: "0.1.0",
    env: { PATH: process.env["PATH"], HOME: cwd, CHIMERA_HOME: folder() },
    onUpdate(update) {
      updates.push(update);
      conversation.apply(update);
      if (update.kind === "permission_request") void agent.answer(update.id, { ...reply, shown: update.shown });
    },
    onLog() {},
    onEnd: (reason) => ends.push(reason),
  });
  onTestFinished(() => agent.close());
  return { agent, cwd, updates, conversation, ends };
}

describe.each(["otter", "ferret"] as const)("%s", (program) => {
  test("streams into the panel, with a tool as a card that closes", async () => {
    const { agent, conversation } = await begin(program, [
      {
        steps: [
          {
            reply: [
              { text: "Hello.", chunks: 3 },
              { call: "Read", args: { path: "README.md" } },
            ],
          },
          { reply: [{ text: "Read." }] },
        ],
      },
    ]);
    await agent.say("hello");
    expect(conversation.items).toMatchObject([
      { type: "agent", text: "Hello." },
      { type: "tool", title: "Read README.md", state: "done", output: expect.stringContaining("two") },
      { type: "agent", text: "Read." },
    ]);
  });

  test("shows an edit as a diff that can be rejected, and undoes the turn", async () => {
    const edit = { path: "README.md", old_string: "two", new_string: "2" };
    const { agent, cwd, updates, conversation } = await begin(program, [turn({ call: "Edit", args: edit })]);
    await agent.say("edit it");
    expect(conversation.items).toContainEqual({ type: "diff", text: expect.stringMatching(/^@@.*^-two$.*^\+2$/ms) });
    const path = join(cwd, "README.md");
    const seen = updates.find((update) => update.kind === "file_edit");
    expect(seen).toMatchObject({ path, change: "update" });
    const edits = createEdits();
    if (seen?.kind === "file_edit") edits.add(seen);
    expect(edits.linesOf(path)).toEqual([1]);
    expect(edits.without(path, readFileSync(path, "utf8"))).toBe("one\ntwo\nthree\n");
    await agent.say("/undo");
    expect(readFileSync(path, "utf8")).toBe("one\ntwo\nthree\n");
    expect(conversation.items.at(-1)).toMatchObject({ type: "agent", text: expect.stringMatching(/undo|undone/i) });
  });
});

test.each([
  ["allow", true],
  ["deny", false],
] as const)(
  "a question answered with %s: the command runs is %s",
  {
    tags: ["needs-sandbox"],
  },
  async (decision, runs) => {
    const command = "touch made.txt && rm -rf nothing";
    const { agent, cwd, updates } = await begin("ferret", [turn({ call: "Bash", args: { command } })], { decision });
    await agent.say("run it");
    expect(updates).toContainEqual(expect.objectContaining({ kind: "permission_request", tool: "Bash" }));
    expect(existsSync(join(cwd, "made.txt"))).toBe(runs);
  },
);

test("a question shows its full content and its outcome", async () => {
  const command = `echo ${"long ".repeat(100)}\nrm -rf nothing`;
  const { agent, conversation, updates } = await begin("ferret", [turn({ call: "Bash", args: { command } })]);
  await agent.say("run it");
  const asked = updates.find((update) => update.kind === "permission_request");
  const find = () => conversation.items.find((item) => item.type === "question");
  expect(find()).toMatchObject({ title: "Allow Bash?", text: command, diff: "", answer: null });
  expect(conversation.items[0]).toMatchObject({ type: "tool", title: `Bash ${command.slice(0, 120)} …` });
  expect(conversation.answered(asked?.kind === "permission_request" ? asked.id : "", "allowed once")?.item).toBe(
    find(),
  );
  expect(find()).toMatchObject({ answer: "allowed once" });
});

test("a question about an edit shows its diff", async () => {
  const edit = turn({ call: "Edit", args: { path: "README.md", old_string: "two", new_string: "2" } });
  const { agent, conversation } = await begin("otter", [edit]);
  await agent.say("edit it");
  const asked = conversation.items.find((item) => item.type === "question");
  expect(asked).toMatchObject({ diff: expect.stringMatching(/^@@.*^-two$.*^\+2$/ms) });
});

test("a question of the agent is answered in words", async () => {
  const ask = { call: "ask", args: { question: "Which one?", options: ["red", "blue"] } };
  const steps = [{ reply: [ask] }, { expect: { result: "green" }, reply: [{ text: "Green it is." }] }];
  const { agent, conversation, updates } = await begin("ferret", [{ steps }], { decision: "allow", answer: "green" });
  await agent.say("choose");
  const asked = updates.find((update) => update.kind === "permission_request");
  expect(asked?.kind === "permission_request" && wantedOf(asked)).toEqual({
    question: "Which one?",
    options: ["red", "blue"],
  });
  expect(conversation.items).toMatchObject([
    { type: "tool", title: "ask Which one?" },
    { type: "question", text: "Which one?" },
    { type: "agent", text: "Green it is." },
  ]);
});

test("a turn is stopped, and the next one works", async () => {
  const { agent, updates } = await begin("ferret", [{ steps: [{ reply: [{ text: "…" }, { stall: true }] }] }, turn()]);
  const talking = agent.say("talk");
  await expect.poll(() => updates.length).toBeGreaterThan(0);
  await agent.cancel();
  await talking;
  await agent.say("again");
  expect(updates.filter(({ kind }) => kind === "turn_end")).toMatchObject([
    { stop_reason: "cancelled" },
    { stop_reason: "end_turn" },
  ]);
});

test("closing ends the program without an error", async () => {
  const { agent, ends } = await begin("otter", [turn()]);
  await agent.close();
  expect(ends).toEqual([null]);
  await expect(agent.say("hello")).rejects.toThrow();
});

test.each([
  ["is missing", "/nowhere/chimera", [], /was not found: set chimera.command/],
  [
    "ends at once",
    process.execPath,
    ["-e", "console.error('no such flag'); process.exit(2)"],
    /ended with 2: no such flag/,
  ],
  ["does not speak the protocol", process.execPath, ["-e", "console.log('hello'); process.exit(0)"], /ended with 0/],
])("a program that %s causes an error with the reason", async (_, command, args, reason) => {
  const ends: (string | null)[] = [];
  const starting = startAgent({
    command,
    args,
    cwd: folder(),
    version: "0",
    onUpdate() {},
    onLog() {},
    onEnd: (why) => ends.push(why),
  });
  await expect(starting).rejects.toThrow(reason);
});

describe("edits of one file", () => {
  const path = "/w/a.txt";
  const diff = (body: string) => `--- a.txt\n+++ a.txt\n${body}`;
  const first = { path, change: "update" as const, diff: diff("@@ -1,2 +1,2 @@\n-one\n+1\n two\n") };
  const second = { path, change: "update" as const, diff: diff("@@ -1,2 +1,2 @@\n 1\n-two\n+2\n") };

  test("are removed newest first; a person's change elsewhere in the file stays", () => {
    const edits = createEdits();
    edits.add(first);
    edits.add(second);
    expect(edits.linesOf(path)).toEqual([0, 1]);
    expect(edits.without(path, "1\n2\n")).toBe("one\ntwo\n");
    expect(edits.without(path, "1\n2\nthree\n")).toBe("one\ntwo\nthree\n");
    edits.accept(path);
    expect(edits.paths).toEqual([]);
  });

  test("stay if the file was changed in the same place, or if they are too large to describe", () => {
    const edits = createEdits();
    edits.add(first);
    expect(edits.without(path, "uno\ntwo\n")).toBeUndefined();
    const large = createEdits();
    large.add({ path, change: "update", diff: "--- a.txt\n+++ a.txt\n" });
    expect(large.without(path, "anything")).toBeUndefined();
  });

  test("that created the file delete it", () => {
    const edits = createEdits();
    edits.add({ path, change: "add", diff: diff("@@ -0,0 +1,1 @@\n+new\n") });
    expect(edits.without(path, "new\n")).toBeNull();
    expect(edits.without(path, "new\nand mine\n")).toBeUndefined();
  });
});

test("a permission request for a tool named ask is not a question: an answer in words does not allow it", () => {
  const args = { question: "May I?", options: ["No"] };
  const asked = { kind: "permission_request", id: "perm-1", tool: "ask", args, risk: "high" } as const;
  const conversation = createConversation();
  expect(wantedOf(asked as never)).toEqual(args);
  const permission = { ...asked, content: [{ type: "text", text: "question: May I?" }], shown: "00" } as never;
  expect(wantedOf(permission)).toBeNull();
  expect(conversation.apply(permission)?.item).toMatchObject({ type: "question", title: "Allow ask?" });
});
