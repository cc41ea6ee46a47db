import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPerson, ended } from "./person.js";

const says = (text: string) => [{ steps: [{ reply: [{ text, chunks: 3 }] }] }];

test("-p answers on stdout, names the saved run on stderr and exits 0", async () => {
  const person = await createPerson();
  const model = await person.script(says("four"));
  const { code, stdout, stderr } = await person.type(["-p", "two and two?", "--model", model]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "four\n" });
  const saved = /^\[otter\] session (otter-\d{8}T\d{6}-[0-9a-f]{8})\n\[otter\] run saved as \1 at (.+)\/\n$/.exec(
    stderr,
  );
  expect(existsSync(join(saved?.[2] ?? "", "summary.json"))).toBe(true);
});

test("json is one object; stream-json is a line per record, with the same object last", async () => {
  const person = await createPerson();
  const model = await person.script(says("four"));
  const json = await person.type(["-p", "sum", "--model", model, "--output-format", "json"]);
  const result = JSON.parse(json.stdout);
  expect(result).toEqual({
    output: "four",
    steps: 1,
    cost: 0,
    success: true,
    model,
    run_id: expect.stringMatching(/^otter-/),
  });
  const stream = await person.type(["-p", "sum", "--model", model, "--output-format", "stream-json", "--no-save"]);
  const lines = stream.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ type }) => type)).toEqual(expect.arrayContaining(["user_message", "text_delta", "agent_result"]));
  expect(lines.every((line) => Object.keys(line).join() === "type,turn,data")).toBe(true);
  expect(lines.at(-1)).toMatchObject({ type: "result", turn: 0, data: { output: "four", success: true } });
  expect(stream.stderr).toBe("");
});

test("files and piped text are separate blocks before the prompt", async () => {
  const person = await createPerson();
  await writeFile(join(person.cwd, "a.txt"), "one\ntwo\n");
  const model = await person.script(says("read"));
  const run = await person.type(["-p", "look", "-f", "a.txt", "--model", model, "--output-format", "stream-json"], {
    input: "piped words",
  });
  const { data } = JSON.parse(run.stdout.split("\n", 1)[0]!);
  expect(data).toMatchObject({
    text: "look",
    content: [
      { text: '<file path="a.txt" lines="2">\none\ntwo\n</file>' },
      { text: '<file path="-" lines="1">\npiped words\n</file>' },
      { text: "look" },
    ],
  });
  const whole = await person.type(["-p", "-", "--model", model, "--output-format", "stream-json"], {
    input: "all of it\n",
  });
  expect(JSON.parse(whole.stdout.split("\n", 1)[0]!).data.text).toBe("all of it");
});

test("an argument without a flag is a prompt, and piped input is its context", async () => {
  const person = await createPerson();
  const model = await person.script(says("read"));
  const run = await person.type(["why does it fail?", "--model", model, "--output-format", "stream-json"], {
    input: "the log",
  });
  const { data } = JSON.parse(run.stdout.split("\n", 1)[0]!);
  expect(data.content).toMatchObject([{ text: expect.stringContaining("the log") }, { text: "why does it fail?" }]);
  expect((await person.type(["-p", "one", "two words"])).stderr).toContain("-p takes one prompt");
});

test("files are cut at 500 KiB together", async () => {
  const person = await createPerson();
  await writeFile(join(person.cwd, "big.txt"), "x".repeat(700 * 1024));
  const model = await person.script(says("ok"));
  const run = await person.type(["-p", "look", "-f", "big.txt", "--model", model, "--output-format", "stream-json"]);
  const block = JSON.parse(run.stdout.split("\n", 1)[0]!).data.content[0].text;
  expect(block.length).toBeLessThan(501 * 1024);
  expect(block).toContain("<!-- truncated -->\n</file>");
  expect(run.stderr).toContain("big.txt: cut");
});

test("-c and --resume continue a session; a title and --cwd are kept", async () => {
  const person = await createPerson();
  const turns = [...says("first"), ...says("second"), ...says("third")];
  const model = await person.script(turns);
  await mkdir(join(person.cwd, "sub"));
  const first = await person.type(["-p", "a", "--model", model, "--title", "My run", "--cwd", "sub"]);
  const id = /run saved as (\S+)/.exec(first.stderr)?.[1] ?? "";
  const second = await person.type(["-p", "b", "-c", "--cwd", "sub"]);
  const third = await person.type(["-p", "c", "--resume", id]);
  expect([first, second, third].map(({ stdout }) => stdout)).toEqual(["first\n", "second\n", "third\n"]);
  const summary = JSON.parse(await readFile(join(person.home, ".chimera", "eventlog", id, "summary.json"), "utf8"));
  expect(summary).toMatchObject({ title: "My run", turns: 3, cwd: join(person.cwd, "sub") });
});

test("without a terminal permissions are denied at once, and the run exits 3; a failed run exits 1", async () => {
  const person = await createPerson();
  const denied = await person.script([
    {
      steps: [
        { reply: [{ call: "write_file", args: { path: "x.txt", content: "x" } }] },
        { expect: { result: "Not permitted" }, reply: [{ text: "could not" }] },
      ],
    },
  ]);
  const text = await person.type(["-p", "write", "--model", denied]);
  expect(text).toMatchObject({
    code: 3,
    stdout: "could not\n",
    stderr: expect.stringContaining("1 call was not permitted"),
  });
  const json = await person.type(["-p", "write", "--model", denied, "--output-format", "json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({ success: true, denied: 1 });
  expect(existsSync(join(person.cwd, "x.txt"))).toBe(false);
  const failing = await person.script([{ steps: [{ reply: [{ error: { code: "unauthorized" } }] }] }]);
  const run = await person.type(["-p", "go", "--model", failing, "--output-format", "json"]);
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toMatchObject({ success: false, error: expect.stringContaining("failed") });
});

test("over the cost limit the run stops with exit 2", async () => {
  const person = await createPerson();
  const spend = { reply: [{ usage: { output: 1_000_000 } }, { call: "list_files", args: {} }] };
  const model = await person.script([{ steps: [spend, { reply: [{ text: "more" }] }] }], {
    price: { input: 1, output: 1 },
  });
  const run = await person.type(["-p", "go", "--model", model, "--max-cost", "0.5"]);
  expect(run.code).toBe(2);
  expect(run.stderr).toContain("the cost limit is reached");
});

test("Ctrl-C cancels the turn and exits 130", async () => {
  const person = await createPerson();
  const model = await person.script([{ steps: [{ reply: [{ text: "half" }, { stall: true }] }] }]);
  const child = person.start(["-p", "go", "--model", model, "--output-format", "stream-json"]);
  child.stdin.end();
  child.stdout.on("data", (text) => {
    if (String(text).includes('"text_delta"')) child.kill("SIGINT");
  });
  const { code, stdout } = await ended(child);
  expect(code).toBe(130);
  expect(stdout).toContain('"type":"cancelled"');
});

test("--mode and --agent apply to a new and to a resumed session", async () => {
  const person = await createPerson();
  const writes = { call: "Write", args: { path: "a.txt", content: "x" } };
  const model = await person.script([{ steps: [{ reply: [writes] }, { reply: [{ text: "done" }] }] }], {
    repeat: true,
  });
  const written = () => existsSync(join(person.cwd, "a.txt"));
  const ask = (...args: string[]) => person.type(["-p", "go", "--model", model, ...args]);
  const saved = ({ stderr }: { stderr: string }) => /run saved as (\S+)/.exec(stderr)![1]!;
  const reading = saved(await ask("--mode", "read-only"));
  expect((await ask("--resume", reading, "--output-format", "stream-json")).stdout).toContain("read-only");
  const planning = saved(await ask("--mode", "auto", "--agent", "plan"));
  expect(saved(await ask("--resume", planning, "--mode", "auto"))).toBe(planning);
  expect(written()).toBe(false);
  expect(saved(await ask("--resume", planning, "--mode", "auto", "--agent", "build"))).toBe(planning);
  expect(written()).toBe(true);
});

test.each([
  [["-p", ""], "-p takes a prompt"],
  [["-p", "x", "--agent", "nobody"], 'there is no agent "nobody"; one of build, plan'],
  [["-p", "x", "--mode", "yolo"], "--mode takes one of auto, review, read-only"],
  [["-p", "x", "-f", "missing.txt"], "-f missing.txt: there is no such file\n"],
  [["-p", "x", "-f", "."], "-f .: it is a directory\n"],
  [["-p", "x", "--allowed-tools", "Nope"], "Nope"],
  [["-p", "x", "--output-format", "xml"], "--output-format"],
  [["-p", "x", "--max-steps", "0"], "--max-steps"],
  [["-p", "x", "--max-cost", "-1"], "--max-cost"],
  [["-p", "x", "--resume", "otter-20200101T000000-00000000"], "there is no session"],
  [["-p", "x", "--resume", "../../etc"], "there is no session"],
  [["-p", "x", "-c"], "no session of"],
  [["-p", "x", "-c", "--resume", "a"], "exclude"],
  [["-p", "x", "--cwd", "nowhere"], "nowhere"],
])("%j is a usage error", async (args, message) => {
  const person = await createPerson();
  const { code, stdout, stderr } = await person.type(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});
