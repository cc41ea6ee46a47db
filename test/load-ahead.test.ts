// The code of a turn is loaded while a person writes the first prompt, after the session was answered for.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startEditor } from "./editor.js";
import { repositoryRoot, scratchTree } from "./scratch.js";

const trace = join(repositoryRoot, "scripts", "trace-start.cjs");

async function openTraced() {
  const notes = join(scratchTree({}), "notes.json");
  const editor = await startEditor({ env: { NODE_OPTIONS: `--require ${trace}`, TRACE_START: notes } });
  await editor.open();
  const lines = () => (existsSync(notes) ? readFileSync(notes, "utf8").split("\n") : []);
  return { editor, lines, loaded: () => lines().findIndex((line) => /"loaded".*turn\.js"/.test(line)) };
}

test("an open session has its turn's code loaded after its answer, without a prompt", async () => {
  const { lines, loaded } = await openTraced();
  await vi.waitFor(() => expect(loaded()).toBeGreaterThan(0), 10_000);
  const answered = lines().findIndex((line) => line.includes('\\"sessionId\\"'));
  expect(answered).toBeGreaterThan(0);
  expect(loaded()).toBeGreaterThan(answered);
});

test("a client that leaves right after it opened a session is not waited for", async () => {
  const { editor } = await openTraced();
  editor.program.child.stdin.end();
  expect(await editor.program.exited).toBe(0);
});
