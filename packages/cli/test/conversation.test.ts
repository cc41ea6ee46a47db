/** The conversation through pipes: plain lines without colours or cursor. terminal.test.ts has the tests that need a terminal. */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPerson, ended } from "./person.js";

const step = (...reply: unknown[]) => ({ steps: [{ reply }] });

test("each line is a prompt; answers come in order, without escape sequences", async () => {
  const person = await createPerson();
  await writeFile(join(person.cwd, "notes.txt"), "hello\n");
  const model = await person.script([
    {
      steps: [
        { reply: [{ text: "Let me see.\n" }, { call: "list_files", args: {} }] },
        { reply: [{ text: "**One** file." }] },
      ],
    },
    step({ text: "# Title\n\n- item\n\u001b]0;evil\u0007\u001b[31mred\u001b[0m" }),
  ]);
  const { code, stdout, stderr } = await person.type(["--model", model], { input: "what is here?\nand now?\n/cost\n" });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(
    stdout
      .replace(/\d+(\.\d)?m?s\b/g, "Nms")
      .split("\n")
      .slice(3)
      .join("\n"),
  ).toBe(
    [
      "Let me see.",
      "",
      "✓ List . Nms",
      "",
      "One file.",
      `${model} · review · 2 steps · 1 tool call · Nms`,
      "",
      "Title",
      "",
      "- item",
      "red",
      `${model} · review · 1 step · Nms`,
      "",
      "no tokens used yet",
      "",
      "",
    ].join("\n"),
  );
});

test("without a person, permissions are denied and the conversation continues", async () => {
  const person = await createPerson();
  const model = await person.script([
    {
      steps: [
        { reply: [{ call: "write_file", args: { path: "x.txt", content: "x" } }] },
        { expect: { result: "Not permitted" }, reply: [{ text: "Then not." }] },
      ],
    },
  ]);
  const { code, stdout } = await person.type(["--model", model], { input: "write\n" });
  expect(code).toBe(0);
  expect(stdout).toContain("✗ Write x.txt");
  expect(stdout).toContain("Then not.");
  expect(existsSync(join(person.cwd, "x.txt"))).toBe(false);
});

test("/new and /resume change the session; -c shows what came before", async () => {
  const person = await createPerson();
  const model = await person.script([step({ text: "first answer" }), step({ text: "second answer" })]);
  const run = await person.type(["--model", model], { input: "one\n/new\nother\n/resume nope\n/exit\nnever\n" });
  expect(run.code).toBe(0);
  const ids = new Set(run.stdout.match(/otter-\d{8}T\d{6}-[0-9a-f]{8}/g));
  expect(ids.size).toBe(2);
  expect(run.stdout).toContain("there is no session nope");
  const [firstId] = ids;
  const again = await person.type(["--resume", firstId ?? ""], { input: "two\n" });
  expect(again.stdout).toMatch(/> one\nfirst answer\n[\s\S]*second answer\n/);
});

test("/new drops the files for undo; leaving does not", async () => {
  const person = await createPerson();
  await mkdir(join(person.home, ".chimera"), { recursive: true });
  const rules = { rules: [{ tool: "*", action: "allow" }] };
  await writeFile(join(person.home, ".chimera/permissions.json"), JSON.stringify(rules));
  const write = { call: "Write", args: { path: "x.txt", content: "x" } };
  const model = await person.script([{ steps: [{ reply: [write] }, { reply: [{ text: "Done." }] }] }]);
  const { stdout } = await person.type(["--model", model], { input: "go\n/new\ngo\n" });
  const [first = "", second = ""] = new Set(stdout.match(/otter-\d{8}T\d{6}-[0-9a-f]{8}/g));
  const kept = (id: string) => existsSync(join(person.home, ".chimera/snapshots", id));
  expect([kept(first), kept(second)]).toEqual([false, true]);
});

test("an interrupted turn is cancelled in the log", async () => {
  const person = await createPerson();
  const model = await person.script([step({ text: "half\n" }, { stall: true })]);
  const child = person.start(["--model", model]);
  child.stdin.write("go\n");
  let killed = false;
  child.stdout.on("data", (text) => {
    if (!String(text).includes("half") || killed) return;
    killed = true;
    child.kill("SIGINT");
  });
  const { code, stdout } = await ended(child);
  expect(code).toBe(130);
  const id = /otter-\d{8}T\d{6}-[0-9a-f]{8}/.exec(stdout)?.[0] ?? "";
  const summary = JSON.parse(await readFile(join(person.home, ".chimera/eventlog", id, "summary.json"), "utf8"));
  expect(summary).toMatchObject({ success: false, error: "cancelled" });
});
