/** Conditions that break terminals: much output, a changing size, a closed window, keys that come too early. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPerson, serve, TOKEN } from "./person.js";
import { onTerminal, open } from "./terminal.js";

test("a diff of 10,000 lines is folded, shown in full on demand, and answered with one key", onTerminal, async () => {
  const person = await createPerson();
  const content = Array.from({ length: 10_000 }, (_, at) => `line ${at + 1}\n`).join("");
  const write = { call: "Write", args: { path: "long.txt", content } };
  const model = await person.script([{ steps: [{ reply: [write] }, { reply: [{ text: "Written." }] }] }]);
  const terminal = await open(person, ["--model", model], { rows: 24 });
  await terminal.until(/^>$/m);
  await terminal.type("write it");
  await terminal.press("Enter");
  const folded = await terminal.until(/│ … 9\d{3} more lines, v shows them[\s\S]*\[y\]es/);
  expect(folded).toContain("│ +line 10000\n? Write long.txt, the 10002 lines above");
  await terminal.resize(60);
  await terminal.type("v");
  await terminal.until(/│ \+line 9999\n│ \+line 10000\n {2}\[y\]es/);
  for (const columns of [40, 120, 80]) await terminal.resize(columns);
  await terminal.until(/│ \+line 10000\n[\s\S]*\[y\]es/);
  expect(existsSync(join(person.cwd, "long.txt"))).toBe(false);
  await terminal.type("y");
  // The program may learn the last size only after it wrote this line, which is then wrapped for the size before.
  await terminal.until(/Written\.\n[\s\S]*· 2\s+steps[\s\S]*\n>$/m);
  expect(await readFile(join(person.cwd, "long.txt"), "utf8")).toBe(content);
  // Permanent lines are written once, although the size changed meanwhile.
  const history = await terminal.history();
  expect(history.match(/^✓ Write long\.txt/gm)).toHaveLength(1);
  expect(history.match(/^│ \+line 5000$/gm)).toHaveLength(1);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a sequence that the terminal did not take would stand there as text
  expect(history).not.toMatch(/\u001b|\[\?2026|\[\d+A/);
});

test("5,000 deltas a second cost the terminal less than 30 % of a core", onTerminal, async () => {
  const person = await createPerson();
  const seconds = 4;
  const words = "Words of an answer that goes on. ".repeat(40);
  const burst = { text: `${words.slice(0, 1000)}\n`, chunks: 100 };
  const reply = Array.from({ length: seconds * 50 }, () => [burst, { delayMs: 20 }]).flat();
  const model = await person.script([{ steps: [{ reply }] }]);
  const url = `http://127.0.0.1:${await serve(person, model, ["--no-coalesce"])}`;
  const terminal = await open(person, ["attach", url], { env: TOKEN });
  await terminal.until(/\n>$/m);
  const pid = Number(await terminal.ask("#{pane_pid}"));
  const program = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
  const cpu = () => {
    const fields = readFileSync(`/proc/${program}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  };
  const before = cpu();
  await terminal.type("go");
  await terminal.press("Enter");
  await terminal.until(/1 step · [\s\S]*\n>$/m);
  const used = cpu() - before;
  const records = JSON.parse((await person.type(["sessions", "list", "--json"])).stdout)[0].session_id as string;
  const { events } = JSON.parse((await person.type(["sessions", "show", records, "--json"])).stdout);
  const deltas = events.filter(({ type }: { type: string }) => type === "text_delta").length;
  expect(deltas).toBeGreaterThan(0.9 * 5_000 * seconds);
  // CPU time for these deltas, independent of how busy the machine is.
  const share = used / (deltas / 5_000);
  console.log(
    `${deltas} deltas took ${used.toFixed(2)} s of CPU: ${(100 * share).toFixed(0)} % of a core at 5,000 a second`,
  );
  expect(share).toBeLessThan(0.3);
});

test(
  "a paste of a megabyte is one mark, and closing the terminal ends the turn and leaves no child process",
  onTerminal,
  async () => {
    const person = await createPerson();
    const model = await person.script([
      { steps: [{ reply: [{ call: "Bash", args: { command: "echo $$; sleep 600" } }] }] },
    ]);
    const terminal = await open(person, ["--model", model, "--mode", "auto"]);
    const id = /otter-\d{8}T\d{6}-[0-9a-f]{8}/.exec(await terminal.until(/^>$/m))?.[0] ?? "";
    await terminal.paste(`${"x".repeat(99)}\n`.repeat(10_500));
    await terminal.until(/^> \[paste 1: 10501 lines\]$/m);
    await terminal.resize(50);
    await terminal.press("Enter");
    const child = Number(/^ {2}(\d+)$/m.exec(await terminal.until(/^ {2}\d+$/m))?.[1]);
    await terminal.kill();
    const shown = async () => (await person.type(["sessions", "show", id, "--json"])).stdout;
    await expect.poll(async () => JSON.parse(await shown()).events.at(-1).type, { timeout: 10_000 }).toBe("cancelled");
    expect(() => process.kill(child, 0)).toThrow("ESRCH");
  },
);

test(
  "a line of the program's log appears in the conversation, and a listing is shown unchanged",
  onTerminal,
  async () => {
    const person = await createPerson();
    const model = await person.script([{ steps: [{ reply: [{ text: "Seen." }] }] }], { repeat: true });
    const terminal = await open(person, ["--model", model], { columns: 120 });
    const [id = ""] = /otter-\d{8}T\d{6}-[0-9a-f]{8}/.exec(await terminal.until(/^>$/m)) ?? [];
    await terminal.type("/tools");
    await terminal.press("Enter");
    await terminal.until(/apply_patch: .*\*\*\* Begin Patch, then \*\*\* Add File: path[\s\S]*\n>$/m);
    // Replace the summary file by a directory, so that the program cannot write it any more.
    const summary = join(person.home, ".chimera/eventlog", id, "summary.json");
    await rm(summary, { force: true });
    await mkdir(join(summary, "in the way"), { recursive: true });
    await terminal.type("look");
    await terminal.press("Enter");
    await terminal.until(/^\d\d:\d\d:\d\d error session failed [\s\S]*summary\.json/m);
    await terminal.type("again");
    // The live area leaves nothing above the log line, and the input is in its place.
    const screen = await terminal.until(/Seen\.\n[\s\S]*^> again$/m);
    expect(screen.match(/^>/gm)).toHaveLength(3);
    expect(screen).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
  },
);
