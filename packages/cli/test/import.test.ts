/** Imported sessions: other layouts, old event names, and hostile files. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPerson } from "./person.js";

const summary = {
  run_id: "otter-20250101T000000-0badcafe",
  prompt: "hi",
  cwd: "/nowhere",
  model: "offline",
  success: true,
};

function bundle(events: unknown[], more: object = {}): string {
  return JSON.stringify({ schema: "chimera.otter.session/1", summary: { ...summary, ...more }, events });
}

test("old events are translated, and unknown ones are counted and not stored", async () => {
  const person = await createPerson();
  const events = [
    { type: "user_message", metadata: { content: "hi there" }, timestamp: 1.5, idx: 0 },
    { type: "text_delta", metadata: { content: "hello" } },
    {
      type: "agent_result",
      metadata: { output: "hello", steps: 1, tool_calls_total: 0, cost: 0, success: true, error: null },
    },
    { type: "user_message", turn: 1e9, metadata: { prompt: "msg-9", text: "far away" } },
    { type: "text_delta", turn: 1e9, metadata: { text: "beyond" } },
    { type: "text_delta", turn: 0, metadata: { text: 5 } },
    { type: "session", metadata: { action: "start" } },
    { type: "agent_result", turn: -1, metadata: {} },
    { type: "torn_down", turn: null, metadata: {} },
    "junk",
    null,
  ];
  await writeFile(
    join(person.cwd, "old.json"),
    bundle(events, { cwd: person.cwd, title: 7, started_at: "never", closed: true }),
  );
  const taken = JSON.parse((await person.type(["import", "old.json", "--json"])).stdout);
  expect(taken).toEqual({ session_id: summary.run_id, events: 4, skipped: 7 });
  const shown = JSON.parse((await person.type(["sessions", "show", summary.run_id, "--json"])).stdout);
  expect(shown.events.map(({ seq, type, turn }: Record<string, unknown>) => [seq, type, turn])).toEqual([
    [1, "user_message", 0],
    [2, "text_delta", 0],
    [3, "agent_result", 0],
    [4, "user_message", 1],
  ]);
  expect(shown.summary).toMatchObject({ title: null, turns: 2, prompt: "hi" });
  const resumed = await person.type(["--resume", summary.run_id], { input: "list files\n" });
  expect(resumed.code).toBe(0);
  expect(resumed.stdout).toMatch(/> hi there\nhello\n[\s\S]*✓ List \./);
});

test("reads a directory of event files, with and without a hash in their names", async () => {
  const person = await createPerson();
  const directory = join(person.cwd, "files");
  await mkdir(directory);
  await writeFile(join(directory, "summary.json"), JSON.stringify(summary));
  const event = (text: string) => JSON.stringify({ type: "user_message", metadata: { content: text } });
  await writeFile(join(directory, "event-000000.json"), event("one"));
  await writeFile(join(directory, "event-000001-0123abcd.json"), event("two"));
  const { code, stdout } = await person.type(["import", "files"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `imported 2 events as ${summary.run_id}\n` });
});

test.each([
  ["no id", bundle([], { run_id: undefined }), [], "does not say its id"],
  ["an id that leaves the directory", bundle([], { run_id: "../../evil" }), [], "not usable as a session id"],
  ["a new id that leaves the directory", bundle([]), ["../evil", "--overwrite"], "not usable as a session id"],
  ["no summary", '{"schema":"chimera.otter.session/1","events":[]}', [], "lacks a summary"],
  ["an array", "[]", [], "not an object"],
])("%s is refused", async (_name, text, more, message) => {
  const person = await createPerson();
  await writeFile(join(person.cwd, "x.json"), text);
  const run = await person.type(["import", "x.json", ...more]);
  expect(run).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
});

test("a missing file is a usage error; a file that is not a session is a failure", async () => {
  const person = await createPerson();
  await mkdir(join(person.cwd, "empty"));
  const missing = await person.type(["import", "missing.json"]);
  expect(missing).toMatchObject({ code: 2, stderr: `otter import: there is no ${join(person.cwd, "missing.json")}\n` });
  const empty = await person.type(["import", "empty"]);
  expect(empty).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot read") });
});
