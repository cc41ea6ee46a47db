/** Two turns edit three files and run a command that renames one; undo and redo give the same files, from every place. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { expect, test } from "vitest";
import { createPerson, type Person } from "./person.js";

async function files(person: Person): Promise<Record<string, string>> {
  const names = (await readdir(person.cwd)).filter((name) => name.endsWith(".txt")).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(person.cwd, name), "utf8")] as const)),
  );
}

const BEFORE = { "a.txt": "a0\n", "b.txt": "b0\n" };
const BETWEEN = { "a.txt": "a1\n", "b.txt": "b0\n", "c.txt": "c1\n" };
const AFTER = { "a.txt": "a1\n", "b.txt": "b2\n", "d.txt": "c1\n" };

async function work(person: Person): Promise<string> {
  await mkdir(person.cwd, { recursive: true });
  for (const [name, text] of Object.entries(BEFORE)) await writeFile(join(person.cwd, name), text);
  const home = join(person.home, ".chimera");
  await mkdir(home, { recursive: true });
  await writeFile(
    join(home, "permissions.json"),
    JSON.stringify({ version: 1, default: "allow", rules: [{ tool: "*", action: "allow" }] }),
  );
  const model = await person.script([
    {
      steps: [
        {
          reply: [
            { call: "write_file", args: { path: "a.txt", content: "a1\n" } },
            { call: "write_file", args: { path: "c.txt", content: "c1\n" } },
          ],
        },
        { reply: [{ text: "one" }] },
      ],
    },
    {
      steps: [
        {
          reply: [
            { call: "write_file", args: { path: "b.txt", content: "b2\n" } },
            { call: "bash", args: { command: "mv c.txt d.txt" } },
          ],
        },
        { reply: [{ text: "two" }] },
      ],
    },
  ]);
  const { stdout } = await person.type(["--model", model], { input: "first\nsecond\n" });
  expect(await files(person)).toEqual(AFTER);
  return /otter-\d{8}T\d{6}-[0-9a-f]{8}/.exec(stdout)?.[0] ?? "";
}

const lastLine = (text: string) => text.trimEnd().split("\n").at(-1);

test("slash commands after a restart", async () => {
  const person = await createPerson();
  const id = await work(person);
  const say = async (text: string) => lastLine((await person.type(["--resume", id], { input: `${text}\n` })).stdout);
  expect(await say("/undo")).toBe("/undo: rewound 1 turn, 3 files restored (1 remaining)");
  expect(await files(person)).toEqual(BETWEEN);
  expect(await say("/redo")).toBe("/redo: replayed 1 turn, 3 files restored (0 remaining)");
  expect(await files(person)).toEqual(AFTER);
  expect(await say("/undo 2")).toBe("/undo: rewound 2 turns, 3 files restored (0 remaining)");
  expect(await files(person)).toEqual(BEFORE);
  expect(await say("/undo")).toBe("/undo: nothing to undo");
});

test.for([{ command: ["sessions", "delete"] }, { command: ["sessions", "gc", "--keep", "0"] }])(
  "the files of an undo that was killed before its record are put back by $command",
  async ({ command }) => {
    const person = await createPerson();
    const id = await work(person);
    const root = join(person.home, ".chimera", "snapshots");
    const killed = createSnapshotStore({ root }).session(id, { cwd: person.cwd, directories: [] });
    await killed.restore([1], "undo", { after: 1_000_000 });
    expect(await files(person)).toEqual(BETWEEN);
    const { code, stdout } = await person.type(command[1] === "delete" ? [...command, id] : command);
    expect([code, stdout]).toEqual([0, expect.stringContaining(id)]);
    expect([await files(person), await readdir(root)]).toEqual([AFTER, expect.not.arrayContaining([id])]);
  },
);

test("otter undo and redo, and a file that was changed meanwhile", async () => {
  const person = await createPerson();
  const id = await work(person);
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await person.type(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };
  const dry = await run("undo", "--dry-run");
  expect(dry).toMatch(/^otter-\S+: would undo 1 turn \(1 remaining\); nothing is changed yet\n/);
  expect(dry.match(/^ {2}would be (restored|deleted|created) +\/.*$/gm)).toHaveLength(3);
  expect(await files(person)).toEqual(AFTER);
  expect(await run("undo", id)).toMatch(/^otter-\S+: rewound 1 turn, 3 files restored \(1 remaining\)\n/);
  expect(await files(person)).toEqual(BETWEEN);
  expect(JSON.parse(await run("redo", "--json"))).toMatchObject({ session_id: id, turns: 1, remaining: 0 });
  expect(await files(person)).toEqual(AFTER);
  await writeFile(join(person.cwd, "b.txt"), "mine\n");
  const kept = await run("undo", "--steps", "2");
  expect(kept).toContain(`kept because they changed since: ${join(person.cwd, "b.txt")}`);
  expect(kept).toMatch(/\n {2}conflict {2}.*b\.txt \(changed since\)\n/);
  expect(await files(person)).toEqual({ ...BEFORE, "b.txt": "mine\n" });
});
