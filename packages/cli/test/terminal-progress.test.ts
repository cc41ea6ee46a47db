/** Long work shows its progress on a terminal, and nowhere else. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPerson, type Person } from "./person.js";
import { onTerminal, open } from "./terminal.js";

/** Enough to take much longer than the delay before a line is drawn. */
const EVENTS = 60_000;

/** A file to import: a session with much text. */
async function longSession(person: Person): Promise<string> {
  const model = await person.script([{ steps: [{ reply: [{ text: "Word." }] }] }]);
  const { stderr } = await person.type(["-p", "go", "--model", model]);
  const id = /session (\S+)/.exec(stderr)?.[1] ?? "";
  const { stdout } = await person.type(["export", id, "--format", "json"]);
  const bundle = JSON.parse(stdout) as { events: { type: string }[] };
  const said = bundle.events.find(({ type }) => type === "text_delta")!;
  const events = bundle.events.flatMap((event) => (event === said ? Array(EVENTS).fill(said) : [event]));
  const file = join(person.home, "long.json");
  await writeFile(file, JSON.stringify({ ...bundle, events }));
  return file;
}

/** Runs a command on a terminal, and returns all its output. */
async function watch(person: Person, args: readonly string[]): Promise<{ screen: string; written: string }> {
  const record = join(person.home, "written");
  const terminal = await open(person, args, { columns: 120, record });
  const screen = await terminal.until(/EXIT 0/);
  await expect.poll(() => readFile(record, "utf8"), { timeout: 10_000 }).toContain("EXIT 0");
  return { screen, written: await readFile(record, "utf8") };
}

const bar = (label: string, total: string) => new RegExp(`${label} [█░]{24} \\d+ of ${total}`);

test(
  "import, export and copy draw a bar on a terminal and remove it, and draw none to a pipe",
  onTerminal,
  async () => {
    const person = await createPerson();
    const file = await longSession(person);
    const ids = [1, 2, 3].map((n) => `otter-20260101T00000${n}-0000000${n}`);
    const imported = await watch(person, ["import", file, ids[0]!]);
    expect(imported.written).toMatch(bar("events imported", "\\d{5}"));
    expect(imported.screen).toMatch(/^imported \d{5} events as /);
    const out = join(person.home, "out.md");
    const exported = await watch(person, ["export", ids[0]!, "--format", "md", "--output", out]);
    expect(exported.written).toMatch(bar("events exported", "\\d{5}"));
    expect(exported.screen.trimStart().startsWith(out)).toBe(true);

    for (const id of ids.slice(1)) {
      const piped = await person.type(["import", file, id]);
      expect({ code: piped.code, stderr: piped.stderr }).toEqual({ code: 0, stderr: "" });
    }
    const [from, to] = [join(person.home, ".chimera"), join(person.home, "other")];
    const copied = await watch(person, ["store", "copy", `file:${from}`, `file:${to}`]);
    expect(copied.written).toMatch(bar("sessions copied", "4"));
    expect(copied.screen).toMatch(/^4 sessions copied/);
    const piped = await person.type(["export", ids[0]!, "--format", "md", "--output", out]);
    expect({ code: piped.code, stderr: piped.stderr }).toEqual({ code: 0, stderr: "" });
  },
);

test("the first command in a workspace shows how many files have been read", onTerminal, async () => {
  const person = await createPerson();
  for (let folder = 0; folder < 40; folder++) {
    const path = join(person.cwd, `folder-${folder}`);
    await mkdir(path);
    await Promise.all(
      Array.from({ length: 100 }, (_, n) => writeFile(join(path, `${n}.txt`), `file ${folder} ${n}\n`.repeat(200))),
    );
  }
  const steps = [{ reply: [{ call: "Bash", args: { command: "echo hello" } }] }, { reply: [{ text: "Done." }] }];
  const model = await person.script([{ steps }], { repeat: true });
  const record = join(person.home, "written");
  const terminal = await open(person, ["--model", model, "--mode", "auto", "go"], { columns: 120, record });
  const screen = await terminal.until(/✓ echo hello[\s\S]*Done\.[\s\S]*^>$/m);
  expect(screen).not.toContain("reading the workspace");
  expect(await readFile(record, "utf8")).toMatch(/reading the workspace once, for undo: \d+ files · /);
});
