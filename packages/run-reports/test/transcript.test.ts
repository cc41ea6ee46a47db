import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import { createFileStore, createMemoryStore } from "@chimera/event-store";
import { describe, expect, it } from "vitest";
import { contentType, openTranscript, parseFormat, renderTranscript } from "../src/index.js";
import { formatDuration } from "../src/transcript/text.js";
import { ID, type Loose, prompt, recordsOf, render, result, sourceOf, stream, text } from "./fixture.js";

const SUMMARY = {
  model: "glm-5.1:cloud",
  prompt: "do the thing",
  started_at: "2026-04-25T12:03:00Z",
  ended_at: "2026-04-25T12:03:30Z",
  steps: 4,
  tool_calls_total: 3,
  cost_usd: 0.07,
  success: true,
};

const call = (call_id: string, more: object = {}): Loose => ({
  type: "tool_call",
  metadata: { call_id, tool: "Edit", title: call_id, args: { n: 1 }, kind: "edit", locations: [], ...more },
});
const done = (call_id: string, more: object = {}): Loose => ({
  type: "tool_result",
  metadata: { call_id, success: true, output: `out of ${call_id}`, duration_ms: 12, ...more },
});
const edit = (path: string): Loose => ({
  type: "file_edit",
  metadata: { path, diff: `--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-old ${path}\n+new ${path}\n`, change: "update" },
});
const markdown = (events: readonly Loose[], summary: object = {}) =>
  render(sourceOf(events, { summary }), { format: "md" });
/** The document without its heading. */
const told = async (events: readonly Loose[]) => (await markdown(events)).split("## Conversation\n")[1];

describe("formats", () => {
  it("are three, with html as the default", () => {
    expect([parseFormat(undefined), parseFormat(""), parseFormat("MD"), parseFormat("json")]).toEqual([
      "html",
      "html",
      "md",
      "json",
    ]);
    for (const format of ["pdf", "htm", 5, {}, "__proto__"]) {
      expect(() => parseFormat(format)).toThrow(expect.objectContaining({ code: "invalid_format" }));
    }
    expect([contentType("html"), contentType("md"), contentType("json")]).toEqual([
      "text/html; charset=utf-8",
      "text/markdown; charset=utf-8",
      "application/json",
    ]);
  });

  it("json is the summary and all unchanged records", async () => {
    const events = [prompt("a"), text('b\n"c" \u2028'), { type: "someday", metadata: null }];
    const json = await render(sourceOf(events, { summary: SUMMARY }), { format: "json" });
    expect(json).toBe(`${JSON.stringify({ session_id: ID, summary: SUMMARY, events: recordsOf(events) }, null, 2)}\n`);
    expect(await render(sourceOf([], { summary: null }), { format: "json" })).toBe(
      `${JSON.stringify({ session_id: ID, summary: null, events: [] }, null, 2)}\n`,
    );
  });

  it("markdown begins with the summary", async () => {
    expect(await markdown([], SUMMARY)).toBe(`# Otter session \`${ID}\`

- model: \`glm-5.1:cloud\`
- started: 2026-04-25T12:03:00Z
- ended: 2026-04-25T12:03:30Z
- steps: 4
- tool calls: 3
- cost (USD): 0.070000
- success: true

## Conversation

### You

\`\`\`
do the thing
\`\`\`

_(no events recorded)_
`);
  });

  it("html has the same rows, and a note when there are no events", async () => {
    const html = await render(sourceOf([], { summary: { ...SUMMARY, error: "it broke" } }), { format: "html" });
    for (const [label, value] of [
      ["model", "glm-5.1:cloud"],
      ["cost (USD)", "0.070000"],
      ["error", "it broke"],
    ]) {
      expect(html).toContain(`<th scope="row">${label}</th><td>${value}</td>`);
    }
    expect(html).toContain("do the thing");
    expect(html).toContain("(no events recorded)");
  });

  it("text cannot end markdown's fences and code spans", async () => {
    const nasty = "```\n# Escaped\n````\n<script>x</script>";
    const document = await markdown([prompt(nasty), call("c", { tool: "a`b", title: "``x\n# y``" })]);
    expect(document).toContain(`\`\`\`\`\`\n${nasty}\n\`\`\`\`\`\n`);
    expect(document).toContain("### ``a`b`` ``` ``x # y`` ```\n");
  });
});

it.each([
  [999.6, "1.0 s"],
  [59_960, "1 min 0 s"],
  [119_700, "2 min 0 s"],
  [185_000, "3 min 5 s"],
])("a duration of %d ms is shown as %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

describe("the conversation", () => {
  it.each([
    ["Edit", "Edit greet.js", "`Edit` `greet.js`"],
    ["search", 'Search "x"', '`search` `"x"`'],
    ["Read", "Read", "`Read`"],
    ["Read", "Readable", "`Read` `Readable`"],
    ["Bash", "npm test", "`Bash` `npm test`"],
  ])("shows a call of %s with the title %s only once", async (tool, title, shown) => {
    expect(await markdown([prompt("a"), call("c", { tool, title })])).toContain(`### ${shown}\n`);
    const words = shown.replaceAll("`", "").replace(`${tool} `, "").replaceAll('"', "&quot;");
    const heading = words === tool ? `<b>${tool}</b> <span` : `<b>${tool}</b> ${words} <span`;
    const page = await render(sourceOf([prompt("a"), call("c", { tool, title })]), { format: "html" });
    expect(page).toContain(heading);
  });

  it("joins the pieces of a text, and separates thought and answer", async () => {
    const thought = (text: string): Loose => ({ type: "thought_delta", metadata: { text } });
    expect(await told([thought("a"), thought("b"), text("c"), text("d"), thought("e")])).toBe(
      ["Thought:ab", "Otter:cd", "Thought:e"]
        .map((part) => part.split(":"))
        .map(([who, body]) => `\n### ${who}\n\n\`\`\`${who === "Otter" ? "markdown" : ""}\n${body}\n\`\`\`\n`)
        .join(""),
    );
  });

  it("shows a tool call once, with its permission, edits and result", async () => {
    const story = await told([
      call("c1"),
      { type: "permission_request", metadata: { permission_id: "q", call_id: "c1" } },
      { type: "permission_resolved", metadata: { permission_id: "q", decision: "always", by: "client" } },
      edit("/a"),
      done("c1", { content: [{ type: "diff", path: "/a", old_text: "other", new_text: "text" }] }),
    ]);
    expect(story?.match(/^###/gm)).toHaveLength(1);
    expect(story).toContain("ok · 12 ms · permission: `always, by client`");
    expect(story).toContain("-old /a\n+new /a\n");
    expect(story).not.toContain("-other");
  });

  it("assigns edits of parallel calls to their own call", async () => {
    const story = await told([
      call("c1", { locations: [{ path: "/a" }] }),
      call("c2", { locations: [{ path: "/b" }] }),
      edit("/b"),
      edit("/a"),
      done("c1"),
      done("c2"),
    ]);
    const [first = "", second = ""] = story?.split("### ").slice(1) ?? [];
    expect([first.includes("+new /a"), first.includes("+new /b")]).toEqual([true, false]);
    expect([second.includes("+new /a"), second.includes("+new /b")]).toEqual([false, true]);
  });

  it("compares the texts of a diff if no edit was recorded", async () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    const content = [
      { type: "diff", path: "/a", old_text: lines.join("\n"), new_text: lines.with(10, "changed").join("\n") },
      { type: "diff", path: "/new", old_text: null, new_text: "x\ny\n" },
    ];
    const story = await told([call("c1"), done("c1", { content })]);
    expect(story).toContain(
      "@@ -8,7 +8,7 @@\n line 7\n line 8\n line 9\n-line 10\n+changed\n line 11\n line 12\n line 13\n```",
    );
    expect(story).toContain("@@ -1,0 +1,2 @@\n+x\n+y\n```");
  });

  const task = (call_id: string, event: Loose): Loose => ({ type: "task_event", metadata: { call_id, event } });

  it("shows a task's work below its call", async () => {
    const events = [
      call("c1", { tool: "task", title: "explore: look" }),
      task("c1", text("I look.")),
      task("c1", call("c1/1", { tool: "Read", title: "Read a" })),
      task("c1", done("c1/1")),
      task("c1", text("It is good.")),
      done("c1", { output: "It is good." }),
    ];
    const story = await told(events);
    expect(story?.match(/^#.*|I look\.|out of .*/gm)).toEqual([
      "### `task` `explore: look`",
      "#### Otter",
      "I look.",
      "#### `Read` `a`",
      "out of c1/1",
      "#### Otter",
    ]);
    expect(story).not.toContain("task_event");
    const page = await render(sourceOf(events), { format: "html" });
    expect(page).toMatch(
      /<b>task<\/b> explore: look [\s\S]*<b>Read<\/b> a [\s\S]*out of c1\/1[\s\S]*<\/details>\n[\s\S]*<\/details>/,
    );
  });

  it("leaves out the end of an excessive task", async () => {
    const long = Array.from({ length: 20 }, (_, n) => task("c1", text(`${n} ${"x".repeat(300_000)}`)));
    const story = await told([call("c1"), ...long, done("c1")]);
    expect(story).toContain("> `The rest of the task is left out`");
    expect(story?.length).toBeLessThan(5_000_000);
  });

  it("shows a job with its output when it has ended, and questions with their answers", async () => {
    const job = (type: string, more: object): Loose => ({ type, metadata: { job_id: "job-0.1", ...more } });
    const story = await told([
      job("job_started", { call_id: "c", command: "npm start" }),
      job("job_output", { stream: "stdout", chunk: "up\n" }),
      result(),
      job("job_output", { stream: "stdout", chunk: "and running\n" }),
      {
        type: "question_asked",
        metadata: { question_id: "q", question: "Which?", options: [{ name: "red" }, { name: "blue" }] },
      },
      { type: "question_answered", metadata: { question_id: "q", answer: "red" } },
      { type: "question_answered", metadata: { question_id: "r", answer: null } },
      job("job_ended", { exit_code: 1, by: "itself" }),
      job("job_ended", { exit_code: 1, by: "stop" }),
      job("job_started", { call_id: "c", command: "tail -f log" }),
      job("job_output", { stream: "stdout", chunk: "a line\n" }),
    ]);
    expect(story?.match(/^> .*|^### .*|^failed$|^unfinished$|up\nand running|a line/gm)).toEqual([
      "> `job-0.1 continues: npm start`",
      "> `Asked: Which? (red, blue)`",
      "> `Answered: red`",
      "> `Nobody answered`",
      "### `job` `npm start`",
      "failed",
      "up\nand running",
      "> `job-0.1 ended (stop)`",
      "> `job-0.1 continues: tail -f log`",
      "### `job` `tail -f log`",
      "unfinished",
      "a line",
    ]);
  });

  it("keeps consecutive messages separate", async () => {
    expect(await told([text("One"), { type: "part_end", metadata: { kind: "text" } }, text("Two")])).toMatch(
      /One\n```\n\n### Otter\n\n```markdown\nTwo\n/,
    );
  });

  it("shows calls that never ended, with their output so far", async () => {
    const story = await told([
      call("c1"),
      { type: "tool_progress", metadata: { call_id: "c1", stream: "stdout", chunk: "half" } },
      { type: "cancelled", metadata: { output: "" } },
    ]);
    expect(story).toMatch(/### `Edit` `c1`\n\nunfinished\n[\s\S]*half[\s\S]*_cancelled/);
  });

  it("shows a queued prompt at the start of its own turn", async () => {
    const story = await told([
      prompt("first", "p1", 0),
      { type: "turn_start", metadata: { prompt: "p1" } },
      prompt("second", "p2", 1),
      prompt("third", "p3", 2),
      text("answer one"),
      result(),
      { type: "turn_start", turn: 1, metadata: { prompt: "p2" } },
      text("answer two"),
      { ...result(), turn: 1 },
      { type: "cancelled", turn: 2, metadata: { output: "" } },
      prompt("fourth", "p4", 3),
    ]);
    expect(story?.match(/first|second|third|fourth|answer \w+|_cancelled/g)).toEqual([
      "first",
      "answer one",
      "second",
      "answer two",
      "third",
      "_cancelled",
      "fourth",
    ]);
  });

  it("goes on with the running turn when a prompt that waits for it is cancelled", async () => {
    const story = await told([
      prompt("first", "p1", 0),
      { type: "turn_start", metadata: { prompt: "p1" } },
      call("c1"),
      prompt("second", "p2", 1),
      { type: "cancelled", turn: 1, metadata: { output: "" } },
      done("c1"),
      text("answer one"),
      result({ output: "answer one" }),
    ]);
    expect(story).not.toContain("unfinished");
    expect(story?.match(/first|second|out of c1|answer \w+|_cancelled/g)).toEqual([
      "first",
      "second",
      "_cancelled",
      "out of c1",
      "answer one",
    ]);
  });

  it("sums a turn up, and shows the final answer only if it was not streamed", async () => {
    const story = await told([
      { type: "turn_start", metadata: { prompt: "p" } },
      { type: "usage", metadata: { input: 1000, output: 234 } },
      { type: "plan", metadata: { entries: [{ content: "old", status: "pending" }] } },
      { type: "plan", metadata: { entries: [{ content: "new", status: "completed" }] } },
      result({ output: "the answer", steps: 2, tool_calls_total: 1, cost: 0.05 }),
      text("heard"),
      result({ output: "heard", success: false, error: "too late" }),
    ]);
    expect(story).toContain("the answer");
    expect(story?.match(/heard/g)).toHaveLength(1);
    expect(story).toContain("- [x] `new`");
    expect(story).not.toContain("old");
    expect(story).toContain("done · 4.0 s · 2 steps · 1 tool call · 1,234 tokens · $0.0500_\n");
    expect(story).toContain("failed · 1 step_\n\n```\ntoo late\n```\n");
  });

  it("shows changes of the session", async () => {
    const story = await told([
      { type: "model_changed", metadata: { old: "a", new: "b" } },
      { type: "undo", metadata: { turns: 2, files: [{}], conflicts: ["/x"], remaining: 0 } },
      {
        type: "redo",
        metadata: {
          turns: 1,
          files: [
            { path: "/y", outcome: "restored" },
            { path: "/z", outcome: "skipped", reason: "too_large" },
          ],
          conflicts: [],
          remaining: 0,
        },
      },
      { type: "sandbox_violation", metadata: { tool: "Bash", mode: "read-only", reason: "network", command: "curl" } },
      { type: "forked", metadata: { from: "otter-1", at: 9 } },
    ]);
    expect(story?.match(/(?<=^> `).*(?=`$)/gm)).toEqual([
      "Model: a → b",
      "Undid 2 turns, 1 file; kept because they changed since: /x",
      "Redid 1 turn, 1 file; left alone: /z (too large)",
      "The sandbox (read-only) stopped Bash: network curl",
      "Forked from otter-1 at record 9",
    ]);
  });

  it.each(["md", "html", "json"] as const)("says in %s where records are missing", async (format) => {
    const [first, , third] = recordsOf([prompt("a"), prompt("b"), prompt("c")]);
    const lost = (seq: number, last: number) => ({ type: "lost", seq, last, reason: "damaged" }) as const;
    const source = { id: ID, summary: {}, count: 5, events: stream([first!, lost(2, 2), third!, lost(4, 5)]) };
    const text = await render(source, { format });
    const notes = text.match(/records? [^<"\n]* cannot be read/g);
    expect(notes).toEqual(["record 2 cannot be read", "records 4 to 5 cannot be read"]);
    if (format !== "json") return;
    const { events } = JSON.parse(text);
    expect(events.map(({ seq }: { seq?: number }) => seq ?? "notice")).toEqual([1, "notice", 3, "notice"]);
    expect(events[3]).toEqual({
      type: "notice",
      turn: null,
      metadata: { level: "error", text: "records 4 to 5 cannot be read" },
      missing: { first: 4, last: 5 },
    });
  });

  it("reads the records of older programs", async () => {
    const story = await told([
      { type: "user_message", metadata: { content: "hello", event_id: "1" } },
      { type: "tool_call", metadata: { tool: "Read", args: { path: "x" }, result: "inline" } },
      { type: "tool_call", metadata: { tool_name: "bash", arguments: { command: "ls" }, call_id: "c" } },
      { type: "tool_result", metadata: { call_id: "c", output: "listed", success: true } },
      { type: "todo_write", metadata: { todos: [{ id: 1 }], op: "add" } },
      { type: "agent_result", metadata: { output: "bye", steps: 1, success: true } },
    ]);
    expect(story?.match(/hello|inline|`bash`|listed|"todos"|bye/g)).toEqual([
      "hello",
      "inline",
      "`bash`",
      "listed",
      '"todos"',
      "bye",
    ]);
  });

  it.each([null, 5, "text", [], { text: 5 }, { content: [{}], entries: 5, files: 1, text: {} }])(
    "survives records whose metadata is %j",
    async (metadata) => {
      const types =
        "user_message turn_start text_delta thought_delta tool_call tool_progress tool_result permission_request permission_resolved plan usage file_edit notice error undo task_event question_asked question_answered job_started job_output job_ended part_end agent_result cancelled other constructor".split(
          " ",
        );
      for (const format of ["html", "md", "json"] as const) {
        const document = await render(sourceOf(types.map((type) => ({ type, metadata }))), { format });
        expect(document.length).toBeGreaterThan(100);
      }
    },
  );
});

describe("from a store", () => {
  it("reads the log during rendering, up to its end at the time of opening", async () => {
    const store = createMemoryStore<SessionEvent, object>();
    const log = await store.create(ID, SUMMARY);
    log.append([prompt("a"), text("b")] as SessionEvent[]);
    const source = await openTranscript(store, ID);
    log.append([text("later")] as SessionEvent[]);
    const document = await render(source, { format: "md" });
    expect(document).toContain("### You\n\n```\na\n```\n\n### Otter\n\n```markdown\nb\n```\n");
    expect(document).not.toContain("later");
  });

  it.each(["otter-20200101T000000-00000000", "../../etc", "", "a/b"])("knows no session %j", async (id) => {
    const root = await mkdtemp(join(tmpdir(), "transcript-"));
    const store = createFileStore<SessionEvent, object>({ root });
    await expect(openTranscript(store, id)).rejects.toMatchObject({ code: "not_found" });
    await store.close();
    await rm(root, { recursive: true });
  });

  it("reads no more of a log than it has rendered", async () => {
    for (const format of ["html", "md", "json"] as const) {
      let asked = 0;
      const events = (async function* () {
        for (const record of recordsOf(Array.from({ length: 5000 }, (_, i) => prompt(`prompt ${i}`)))) {
          asked++;
          yield record;
        }
      })();
      const chunks = renderTranscript({ id: ID, summary: {}, events }, { format })[Symbol.asyncIterator]();
      for (let i = 0; i < 20; i++) await chunks.next();
      expect(asked).toBeLessThan(30);
      await chunks.return?.();
    }
  });
});

describe("excessive texts", () => {
  const LONG = 300_000;

  it.each(["html", "md"] as const)("%s shows their beginning and says how much is left out", async (format) => {
    const shown = await render(sourceOf([prompt("x".repeat(LONG)), result({ error: "y".repeat(LONG) })]), { format });
    expect(shown.match(/\[37,856 more characters are left out\]/g)).toHaveLength(2);
    expect(shown.length).toBeLessThan(2 * LONG);
  });

  it("json has all of them", async () => {
    const { events } = JSON.parse(await render(sourceOf([prompt("x".repeat(LONG))]), { format: "json" }));
    expect(events[0].metadata.text).toHaveLength(LONG);
  });

  it("an answer with an excessive number of marks is shown as plain text", async () => {
    const table = `|${"a|".repeat(30)}\n|${"-|".repeat(30)}\n`;
    const small = await render(sourceOf([text(table), result()]), { format: "html" });
    const large = await render(sourceOf([text(table.repeat(60)), result()]), { format: "html" });
    expect(small).toContain("<table>");
    expect(large).not.toContain("<table>");
    expect(large).toContain('<div class="plain">|a|a|');
  });
});
