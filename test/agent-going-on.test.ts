// Turns with a failing model, through the built program: what the person sees, the files contain and the program sends.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEditor } from "./editor.js";
import { type Model, type Reply, startModel } from "./model.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

const HAIKU = "claude-haiku-4-5";
const done = (text: string): Reply => ({ parts: [{ text }] });
const read = (path: string): Reply => ({ parts: [{ call: "Read", args: { path } }] });
const write = (path: string, content: string): Reply => ({ parts: [{ call: "Write", args: { path, content } }] });

interface Directories {
  readonly cwd: string;
  readonly home: string;
}

/** A workspace, and a person who allows everything. */
function place(files: Record<string, unknown> = { "README.md": "# A workspace\n" }): Directories {
  const rules = { rules: [{ tool: "*", action: "allow" }] };
  return { cwd: scratchTree(files), home: scratchTree({ "permissions.json": rules }) };
}

/** `otter -p`, to its end. */
async function print(model: Model, where: Directories, args: readonly string[]) {
  const command = ["--output-format", "json", "--model", HAIKU, ...args];
  const program = startProgram("otter", command, model.env, where);
  let stdout = "";
  program.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  program.child.stdin.end();
  const code = await program.exited;
  return { code, result: JSON.parse(stdout), stderr: program.stderr() };
}

const said = (request: unknown): string => JSON.stringify(request);

test("a reply that breaks off after some words, twice in a row, is gone on with", async () => {
  const replies = [
    read("README.md"),
    { parts: [{ text: "It is " }], cut: true },
    { parts: [{ text: "a work" }], cut: true },
    done("space."),
  ];
  const model = await startModel((_request, n) => replies[n] as Reply);
  const { code, result, stderr } = await print(model, place(), ["-p", "What is it?"]);
  expect([code, result.success, result.output]).toEqual([0, true, "It is a workspace."]);
  expect(stderr).toContain("going on from there in");
  expect(model.requests).toHaveLength(4);
});

test("every client shows a reply that broke off once: a stream, an editor, and one that loads it later", async () => {
  const answer = (_request: unknown, n: number): Reply =>
    n % 2 === 0 ? { parts: [{ text: "One two three " }], cut: true } : done("One two three four.");
  const whole = "One two three four.";
  const streaming = await startModel(answer);
  const server = await startServer(["--model", HAIKU], streaming.env);
  const { frames } = await server.run("Count.");
  const text = frames.filter(({ event }) => event === "text_delta").map(({ data }) => data.metadata.text);
  expect(text.join("")).toBe(whole);
  expect(frames.filter(({ event }) => event === "notice")).toHaveLength(1);
  expect(frames.filter(({ event }) => event === "agent_result").map(({ data }) => data.metadata.output)).toEqual([
    whole,
  ]);
  const editing = await startModel(answer);
  const clientCapabilities = { session: { notices: {} } };
  const editor = await startEditor({ args: ["--model", HAIKU], env: editing.env, clientCapabilities });
  const { sessionId } = await editor.open();
  const { updates } = await editor.prompt(sessionId, "Count.");
  const chunks = (shown: typeof updates) =>
    shown
      .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
      .map(({ content }) => content.text)
      .join("");
  expect(chunks(updates)).toBe(whole);
  expect(updates.filter(({ sessionUpdate }) => sessionUpdate === "notice")).toHaveLength(1);
  const before = editor.frames.length;
  await editor.request("session/load", { sessionId, cwd: editor.program.cwd, mcpServers: [] });
  const again = editor.frames.slice(before).flatMap(({ params }) => (params?.update ? [params.update] : []));
  expect(chunks(again)).toBe(whole);
});

test("a refusal in a vendor's own words makes room, and later prompts and /compact keep working", async () => {
  const files = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`f${n}.txt`, `FACT-${n}\n`.repeat(2_000)]));
  const where = place(files);
  const window = 60_000;
  let answered = 0;
  const model = await startModel((request) => {
    const tokens = Math.ceil(said(request.messages).length / 4);
    const message = `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`;
    if (tokens > window) return { refusal: { status: 400, message } };
    if (said(request.messages).includes("sum up this conversation"))
      return done([...new Set(said(request.messages).match(/FACT-\d+/g))].join(" "));
    const n = answered++;
    return n < 12 ? read(`f${n}.txt`) : done(`Answer ${n}.`);
  });
  const first = await print(model, where, ["-p", "Read them all."]);
  expect([first.code, first.result.output]).toEqual([0, "Answer 12."]);
  const last = said(model.requests.at(-1).messages);
  for (let n = 0; n < 12; n++) expect(last).toContain(`FACT-${n}`);
  expect(last).toContain("Read them all.");
  const second = await print(model, where, ["--continue", "-p", "And now?"]);
  expect([second.code, second.result.output]).toEqual([0, "Answer 13."]);
  const compact = await print(model, where, ["--continue", "-p", "/compact"]);
  expect([compact.code, compact.result.success]).toEqual([0, true]);
  expect(compact.result.output).toContain("The conversation is summed up");
  const third = await print(model, where, ["--continue", "-p", "Still there?"]);
  expect([third.code, third.result.output]).toEqual([0, "Answer 14."]);
  expect(said(model.requests.at(-1).messages)).toContain("FACT-7");
});

test("/compact works where the model refuses the conversation for good, and the session goes on", async () => {
  const where = place();
  let poisoned = false;
  const model = await startModel((request) => {
    if (poisoned && said(request.messages).includes("sum up this conversation"))
      return { refusal: { status: 400, message: "Invalid conversation." } };
    return done("Yes, FACT-one.");
  });
  await print(model, where, ["-p", "Remember FACT-one?"]);
  poisoned = true;
  const compact = await print(model, where, ["--continue", "-p", "/compact"]);
  expect([compact.code, compact.result.success]).toEqual([0, true]);
  const after = await print(model, where, ["--continue", "-p", "And?"]);
  expect([after.code, after.result.output]).toEqual([0, "Yes, FACT-one."]);
  expect(said(model.requests.at(-1).messages)).toContain("Remember FACT-one?");
});

test("an empty reply after a tool is asked for again; one that is always empty fails the turn", async () => {
  const once = [read("README.md"), { parts: [] }, done("A workspace.")];
  const forgiving = await startModel((_request, n) => once[n] as Reply);
  const good = await print(forgiving, place(), ["-p", "What is it?"]);
  expect([good.code, good.result.success, good.result.output]).toEqual([0, true, "A workspace."]);
  const silent = await startModel((_request, n) => (n === 0 ? read("README.md") : { parts: [] }));
  const bad = await print(silent, place(), ["-p", "What is it?"]);
  expect([bad.code, bad.result.success, bad.result.error]).toEqual([1, false, expect.stringContaining("nothing")]);
  expect(silent.requests).toHaveLength(4);
});

test("half a Write is not run: the model learns so, sends it whole, and the file is right", async () => {
  const content = "line\n".repeat(100);
  const half = JSON.stringify({ path: "out.txt", content }).slice(0, 200);
  const replies = [
    { parts: [{ text: "Writing. " }, { call: "Write", args: half }], stop: "max_tokens" },
    write("out.txt", content),
    done("Written."),
  ];
  const where = place();
  let between = true;
  const model = await startModel((_request, n) => {
    if (n === 1) between = existsSync(join(where.cwd, "out.txt"));
    return replies[n] as Reply;
  });
  const { code, result } = await print(model, where, ["-p", "Write it."]);
  expect([code, result.success, result.output]).toEqual([0, true, "Written."]);
  expect(between).toBe(false);
  expect(readFileSync(join(where.cwd, "out.txt"), "utf8")).toBe(content);
  expect(said(model.requests[1].messages)).toContain("Its calls (Write) are incomplete, so none was run");
});

test("a turn that writes more than its window holds writes it all, and forgets neither what was asked nor what was found", async () => {
  const content = (n: number) => `${n}\n${"x".repeat(23)}\n`.repeat(900);
  const window = 200_000;
  let answered = 0;
  let refused = 0;
  const model = await startModel((request) => {
    const text = said(request.messages);
    const tokens = Math.ceil(text.length / 4);
    if (tokens > window) {
      refused++;
      return { refusal: { status: 400, message: `prompt is too long: ${tokens} tokens > ${window} maximum` } };
    }
    if (text.includes("sum up this conversation")) return done([...new Set(text.match(/FACT-\w+/g))].join(" "));
    const n = answered++;
    if (n === 0) return read("README.md");
    return n <= 45 ? write(`f${n}.txt`, content(n)) : done(`Done, ${[...new Set(text.match(/FACT-\w+/g))].join(" ")}.`);
  });
  const where = place({ "README.md": "FACT-found\n" });
  const { code, result } = await print(model, where, ["-p", "Write 45 files, FACT-asked."]);
  expect([code, result.success]).toEqual([0, true]);
  expect(result.output).toContain("FACT-found");
  expect(result.output).toContain("FACT-asked");
  for (let n = 1; n <= 45; n++) expect(readFileSync(join(where.cwd, `f${n}.txt`), "utf8")).toBe(content(n));
  expect(refused).toBe(0);
}, 60_000);

test("--max-steps 400 means 400, and without it a long turn ends by itself", async () => {
  for (const args of [["--max-steps", "400"], []]) {
    const model = await startModel((_request, n) =>
      n < 130 ? { parts: [{ call: "think", args: { thought: `${n}` } }] } : done("Thought through."),
    );
    const { code, result } = await print(model, place(), [...args, "-p", "Think."]);
    expect([code, result.output, result.steps]).toEqual([0, "Thought through.", 131]);
  }
});

test("the same call again and again stops the turn, which says why", async () => {
  const model = await startModel(() => read("README.md"));
  const { code, result } = await print(model, place(), ["-p", "What is it?"]);
  expect([code, result.success, result.error]).toEqual([1, false, expect.stringContaining("called Read 6 times")]);
  expect(said(model.requests[3].messages)).toContain("3 times in a row");
  expect(model.requests).toHaveLength(6);
});

test("a cost limit with a model whose price is not known asks before anything is sent", async () => {
  const model = await startModel(() => done("Expensive."));
  const { code, result } = await print(model, place(), ["--max-cost", "1", "--model", "claude-of-a-proxy", "-p", "hi"]);
  expect([code, result.success, result.error]).toEqual([
    2,
    false,
    expect.stringContaining("is not known, so the cost limit"),
  ]);
  expect(model.requests).toHaveLength(0);
});

test("long output is kept whole where the model can read it", async () => {
  const where = place();
  const model = await startModel((request, n) => {
    if (n === 0) return { parts: [{ call: "Bash", args: { command: "seq 1 20000" } }] };
    const path = /the full text is in ([^ ,\]]+), for Read/.exec(said(request.messages))?.[1] ?? "";
    if (n === 1) return { parts: [{ call: "Read", args: { path, offset: 12345, limit: 1 } }] };
    return done(path);
  });
  const { code, result } = await print(model, where, ["-p", "Count."]);
  expect(code).toBe(0);
  expect(result.output).toMatch(/\/outputs\/otter-[^/]+\/toolu_\w+\.txt$/);
  expect(said(model.requests[2].messages)).toContain("[lines 12345-12345 of 20000");
});
