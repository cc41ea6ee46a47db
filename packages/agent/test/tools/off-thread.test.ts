import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSearchTool, editTool, replaceInFileTool } from "../../src/tools/index.js";
import { type Bench, bench } from "./bench.js";

const searchTool = createSearchTool({ ripgrep: false });
const ENDLESS = { pattern: "(a+)+$" };
const BACKTRACKED = `${"a".repeat(60)}!`;

/** How often the rest of the process could run meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 5);
  await work();
  clearInterval(ticking);
  return turns;
}

async function withText(text: string): Promise<Bench> {
  const place = await bench();
  await place.file("f.txt", text);
  return place;
}

describe("a pattern that backtracks for ever", () => {
  test.each([
    ["search", searchTool, ENDLESS],
    ["replace_in_file", replaceInFileTool, { ...ENDLESS, path: "f.txt", replacement: "" }],
  ] as const)("in %s is ended after a second, and everything else continues", async (_, tool, input) => {
    const { run } = await withText(BACKTRACKED);
    let output = "";
    const turns = await turnsDuring(async () => {
      ({ output } = await run<never>(tool as never, input));
    });
    expect(output).toBe("The pattern cannot be used: it took more than 1000 ms.");
    // There would be none if it ran on the main thread.
    expect(turns).toBeGreaterThan(10);
  });

  test("ends with its turn", async () => {
    const { run } = await withText(BACKTRACKED);
    // Starts the thread first, which may be slow on a busy machine.
    await run(searchTool, { pattern: "a" });
    const turn = new AbortController();
    const running = run(searchTool, ENDLESS, { signal: turn.signal });
    setTimeout(() => turn.abort(new Error("cancelled")), 50);
    const started = performance.now();
    await expect(running).rejects.toThrow("cancelled");
    expect(performance.now() - started).toBeLessThan(900);
  });

  test("does not delay another turn's pattern", async () => {
    const { run } = await withText(`${BACKTRACKED}\nneedle\n`);
    const slow = run(searchTool, ENDLESS, { signal: new AbortController().signal });
    let slowEnded = false;
    void slow.then(() => {
      slowEnded = true;
    });
    const { output } = await run(searchTool, { pattern: "needle" }, { signal: new AbortController().signal });
    expect(output).toBe("f.txt:2:needle");
    expect(slowEnded).toBe(false);
    await slow;
  });
});

describe("a result that would not fit into memory is refused", () => {
  test.each([
    ["more matches than anybody means", "", "x", "it matches at more than 1000000 places"],
    ["a result without measure", "aa", "$'".repeat(20), "the result would be too long"],
    ["a long replacement", "aa", "x".repeat(10_000), "the result would be too long"],
  ])("%s", async (_, pattern, replacement, reason) => {
    const { run, cwd } = await withText("a".repeat(2_000_000));
    const outcome = await run(replaceInFileTool, { path: "f.txt", pattern, replacement });
    expect(outcome).toMatchObject({ success: false, output: `The pattern cannot be used: ${reason}.` });
    expect(await readFile(join(cwd, "f.txt"), "utf8")).toHaveLength(2_000_000);
  });

  test("a generated pattern", async () => {
    const { run } = await withText("a");
    const { output } = await run(searchTool, { pattern: "a|".repeat(20_000) });
    expect(output).toBe("The pattern cannot be used: it is too long.");
  });
});

test("a passage is searched in a large file while everything else continues", async () => {
  const { run, cwd } = await withText(`${"a\n".repeat(8_000_000)}the end`);
  const miss = { path: "f.txt", old_string: "the  end ", new_string: "x" };
  const turns = await turnsDuring(async () => {
    expect((await run(editTool, miss)).output).toMatch(/^old_string does not occur in f\.txt\./);
  });
  expect(turns).toBeGreaterThan(3);
  await run(editTool, { path: "f.txt", old_string: "the end", new_string: "the beginning" });
  expect((await readFile(join(cwd, "f.txt"), "utf8")).slice(-15)).toBe("a\nthe beginning");
});

test("a program that has used a thread ends when its work is done", async () => {
  const { cwd } = await withText("one needle\n");
  const tools = JSON.stringify(new URL("../../dist/tools/index.js", import.meta.url).href);
  const script = `
    import { createSearchTool, localWorkspace } from ${tools};
    const context = { workspace: localWorkspace(process.cwd()), signal: new AbortController().signal, emit() {} };
    const outcome = await createSearchTool({ ripgrep: false }).run({ pattern: "n..dle", path: "." }, context);
    console.log(outcome.output);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd, timeout: 15_000 });
  let said = "";
  child.stdout.on("data", (text) => {
    said += text;
  });
  expect(await once(child, "close")).toEqual([0, null]);
  expect(said).toBe("f.txt:1:one needle\n");
});
