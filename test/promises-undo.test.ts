// File-level undo and redo, over HTTP and from a prompt, and what they leave on disk.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { fileScope } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, startServer } from "./server.js";

const atEnd = fileScope();
const write = (path: string, content: string) => ({ call: "Write", args: { path, content } });
const turn = (...calls: object[]) => ({ steps: [{ reply: calls }, { reply: [{ text: "Done." }] }] });
const script = {
  turns: [
    turn(write("a.txt", "one"), write("new.txt", "one")),
    turn(write("a.txt", "two")),
    turn({ call: "Bash", args: { command: "printf three > a.txt; printf made > shell.txt" } }),
    turn(write("b.txt", "two")),
  ],
  repeat: true,
};

let server: Server;
let root: string;
beforeAll(async () => {
  root = scratchTree({}, atEnd);
  const file = join(scratchTree({ "script.json": script }, atEnd), "script.json");
  const rules = { rules: [{ tool: "*", action: "allow" }] };
  const home = scratchTree({ "permissions.json": rules }, atEnd);
  server = await startServer(["--model", `scripted:${file}`], { CHIMERA_SNAPSHOT_ROOT: root }, { atEnd, home });
});

let cwd: string;
let id: string;
const read = (name: string) => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), "utf8") : null);
const go = (path: string, body: object = {}) => server.ask(`POST /sessions/${id}/${path}`, { body });
const say = async (prompt: string) => {
  await go("turns", { prompt });
  const frames = await server.all(`/sessions/${id}/events`);
  return frames.findLast((frame) => frame.event === "agent_result")?.data.metadata.output as string;
};
/** A session with three turns: two by the Write tool, one by the shell. */
beforeEach(async () => {
  cwd = scratchTree({ "a.txt": "zero" });
  ({ id } = await server.run("go on", { cwd }));
  await say("go on");
  await say("go on");
  expect([read("a.txt"), read("new.txt"), read("shell.txt")]).toEqual(["three", "one", "made"]);
});

test("undo takes back one turn, what the shell did included", async () => {
  const { status, body } = await go("undo");
  expect(status).toBe(200);
  expect(body).toMatchObject({ turns: 1, remaining: 2, conflicts: [] });
  expect(body.message).toBe("/undo: rewound 1 turn, 2 files restored (2 remaining)");
  expect(body.files.map((file: { path: string }) => file.path).toSorted()).toEqual(
    [join(cwd, "a.txt"), join(cwd, "shell.txt")].toSorted(),
  );
  expect([read("a.txt"), read("shell.txt")]).toEqual(["two", null]);
});

test("several turns at once, and back again", async () => {
  expect((await go("undo", { steps: 3 })).body).toMatchObject({ turns: 3, remaining: 0 });
  expect([read("a.txt"), read("new.txt"), read("shell.txt")]).toEqual(["zero", null, null]);
  expect((await go("redo")).body).toMatchObject({ turns: 1, remaining: 2 });
  expect([read("a.txt"), read("new.txt")]).toEqual(["one", "one"]);
  expect((await go("redo", { steps: 2 })).body).toMatchObject({ turns: 2, remaining: 0 });
  expect([read("a.txt"), read("shell.txt")]).toEqual(["three", "made"]);
});

test.each([
  ["/undo", "/undo", "two"],
  ["/undo 3", "/undo 3", "zero"],
  ["/undo --steps 2", "/undo --steps 2", "one"],
])("%s from a prompt", async (_what, prompt, content) => {
  expect(await say(prompt)).toMatch(/^\/undo: rewound \d turns?, \d files? restored \(\d remaining\)/);
  expect(read("a.txt")).toBe(content);
  expect(await say("/redo --steps 3")).toMatch(/^\/redo: replayed \d turns?/);
  expect(read("a.txt")).toBe("three");
});

test("the conversation goes with the files, and that it went is a record", async () => {
  await go("undo", { steps: 2 });
  const { events } = (await server.ask(`GET /sessions/${id}`)).body;
  expect(events.at(-1)).toMatchObject({ type: "undo", metadata: { turns: 2 } });
  // The script goes by the visible conversation: its second turn comes again.
  await say("go on");
  expect(read("a.txt")).toBe("two");
});

test("blobs and manifests lie below the root, as documented", async () => {
  const dir = join(root, id);
  const manifests = readdirSync(join(dir, "snaps")).map((snap) =>
    JSON.parse(readFileSync(join(dir, "snaps", snap, "manifest.json"), "utf8")),
  );
  expect(manifests).toHaveLength(3);
  const sha = (text: string) => createHash("sha256").update(text).digest("hex");
  const first = manifests.toSorted((a, b) => a.timestamp - b.timestamp)[0];
  expect(first.files).toEqual({ [join(cwd, "a.txt")]: sha("one"), [join(cwd, "new.txt")]: sha("one") });
  expect(first.before).toEqual({ [join(cwd, "a.txt")]: sha("zero"), [join(cwd, "new.txt")]: null });
  const blobs = readdirSync(join(dir, "blobs"));
  expect(blobs.filter((name) => name.startsWith(sha("one").slice(0, 8)))).toEqual([sha("one")]);
  for (const text of ["zero", "one", "two", "three"]) expect(blobs).toContain(sha(text));
});

test("a new turn after undo leaves nothing to redo, and its snapshots go", async () => {
  await go("undo", { steps: 2 });
  await say("go on");
  expect((await go("redo")).body).toMatchObject({ turns: 0 });
  expect(readdirSync(join(root, id, "snaps"))).toHaveLength(2);
});

test("/new wipes the snapshots of the session it was said to; the next turn has one again", async () => {
  expect(existsSync(join(root, id))).toBe(true);
  await say("/new");
  expect(existsSync(join(root, id))).toBe(false);
  const before = read("b.txt");
  await say("go on");
  expect(readdirSync(join(root, id, "snaps"))).toHaveLength(1);
  expect(read("b.txt")).not.toBe(before);
  // This session's later turns can still be undone.
  await go("undo");
  expect(read("b.txt")).toBe(before);
});

test("tearing the session down wipes its snapshots", async () => {
  expect(existsSync(join(root, id))).toBe(true);
  expect((await server.ask(`DELETE /session/${id}`)).status).toBe(204);
  expect(existsSync(join(root, id))).toBe(false);
});

test("a file over 25 MiB is not restored, and undo says so", async () => {
  const big = join(cwd, "b.txt");
  writeFileSync(big, Buffer.alloc(26 * 1024 * 1024, "x"));
  await say("go on");
  expect(read("b.txt")).toBe("two");
  const { body } = await go("undo");
  expect(body.files).toContainEqual(expect.objectContaining({ path: big, outcome: expect.stringContaining("skip") }));
  expect(read("b.txt")).toBe("two");
  expect(body.message).toMatch(/skipped|left|not/);
});
