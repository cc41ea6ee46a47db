/** Choices on a real terminal: a session from a list, an answer that applies to more calls, an answer to the agent's question. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createPerson } from "./person.js";
import { onTerminal, open } from "./terminal.js";

const step = (...reply: unknown[]) => ({ steps: [{ reply }] });

test("sessions are listed in 80 columns, and the chosen one continues", onTerminal, async () => {
  const person = await createPerson();
  const model = await person.script([step({ text: "Seen." })], { repeat: true });
  const ids: string[] = [];
  for (const prompt of [
    "count the lighthouses of this coast and name the one that is farthest from any town",
    "fix it",
  ]) {
    const { stderr } = await person.type(["-p", prompt, "--model", model]);
    ids.push(/session (\S+)/.exec(stderr)?.[1] ?? "");
  }
  const env = { TZ: "Asia/Tokyo" };
  const list = await (await open(person, ["sessions", "list"], { env })).until(/EXIT 0/);
  const rows = list.split("\n");
  expect(rows[0]).toMatch(/^ID +STARTED +STATE +PROMPT$/);
  const hour = (Number(/T(\d\d)/.exec(ids[1] ?? "")?.[1]) + 9) % 24;
  const time = `\\d{4}-\\d\\d-\\d\\d ${String(hour).padStart(2, "0")}:\\d\\d`;
  expect(rows[1]).toMatch(new RegExp(`^${ids[1]?.slice(-8)} +${time} +idle +fix it$`));
  expect(rows[2]).toMatch(new RegExp(`^${ids[0]?.slice(-8)} +${time} +idle +count the lighthouses of this coast.*…$`));
  const shown = await (await open(person, ["sessions", "show", ids[1]?.slice(-8) ?? ""], { env })).until(/EXIT 0/);
  expect(shown).toMatch(/> fix it\nSeen\.\n/);

  const picker = await open(person, ["--resume"]);
  await picker.until(/session: *\n› fix it +.* · [0-9a-f]{8}\n {2}count the lighthouses/);
  await picker.type("light");
  await picker.until(/session: light\n› count the lighthouses/);
  await picker.press("Enter");
  await picker.until(/> count the lighthouses[\s\S]*Seen\.[\s\S]*\n>$/m);
  expect(await picker.screen()).toContain(ids[0]);
  await picker.type("/resume");
  await picker.press("Enter");
  await picker.until(/session: *\n› fix it/);
  await picker.press("Enter");
  await picker.until(new RegExp(`${ids[1]}[\\s\\S]*> fix it`));

  const left = await open(person, ["--resume"]);
  await left.until(/session: *\n› fix it/);
  await left.press("Escape");
  await left.until(/EXIT 0/);
});

test("opening a session that is open in another terminal says where it is open", onTerminal, async () => {
  const person = await createPerson();
  const model = await person.script([step({ text: "Seen." })]);
  const first = await open(person, ["--model", model]);
  const id = /otter-\d{8}T\d{6}-[0-9a-f]{8}/.exec(await first.until(/^>$/m))?.[0] ?? "";
  await first.type("look");
  await first.press("Enter");
  await first.until(/Seen\./);
  const second = await open(person, ["--resume", id.slice(-8)], { columns: 160 });
  const said = await second.until(/EXIT 1/);
  expect(said).toMatch(
    new RegExp(`otter: session ${id} is open in another terminal \\(otter, pid \\d+, host \\S+\\): go on there`),
  );
});

test("an answer may apply to similar commands, or to all edits in this session", onTerminal, async () => {
  const person = await createPerson();
  const bash = (command: string) => ({ call: "Bash", args: { command } });
  const write = (path: string) => ({ call: "Write", args: { path, content: "x\n" } });
  const model = await person.script([
    {
      steps: [
        { reply: [bash("git tag one")] },
        { reply: [bash("git tag two")] },
        { reply: [write("a.txt")] },
        { reply: [write("b.txt")] },
        { reply: [{ text: "All done." }] },
      ],
    },
  ]);
  const terminal = await open(person, ["--model", model]);
  await terminal.until(/^>$/m);
  await terminal.type("go");
  await terminal.press("Enter");
  await terminal.until(/\[1\] Always allow commands that begin with git tag, in this workspace\n {2}\[y\]es/);
  await terminal.type("1");
  await terminal.until(/\[1\] Allow edits in this workspace for this session\n {2}\[y\]es/);
  await terminal.type("1");
  const done = await terminal.until(/All done\./);
  expect(done.match(/^\? /gm)).toHaveLength(2);
  for (const name of ["a.txt", "b.txt"]) expect(await readFile(join(person.cwd, name), "utf8")).toBe("x\n");
});

test("the agent asks, and the person answers with a number or in their own words", onTerminal, async () => {
  const person = await createPerson();
  const ask = (question: string, options: string[] = []) => ({ call: "ask", args: { question, options } });
  const model = await person.script([
    {
      steps: [
        { reply: [ask("Which colour?", ["red", "green"])] },
        { expect: { result: "green" }, reply: [ask("What name?")] },
        { expect: { result: "Blue Bird" }, reply: [{ text: "Named." }] },
      ],
    },
  ]);
  const terminal = await open(person, ["--model", model]);
  await terminal.until(/^>$/m);
  await terminal.type("go");
  await terminal.press("Enter");
  await terminal.until(
    /\? Which colour\?\n {2}1\. red\n {2}2\. green\n {2}type a number, or an answer of your own\n[\s\S]*^>$/m,
  );
  await terminal.type("2");
  await terminal.press("Enter");
  await terminal.until(/answer: green\n[\s\S]*\? What name\?\n {2}type an answer\n[\s\S]*^>$/m);
  await terminal.type("Blue Bird");
  await terminal.press("Enter");
  await terminal.until(/answer: Blue Bird\n[\s\S]*Named\./);
});

test(
  "init asks for the mode, asks the provider about the key, and shows an editor's settings",
  onTerminal,
  async () => {
    const provider = createServer((_, response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end('{"error":{"type":"authentication_error","message":"invalid x-api-key"}}');
    });
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void provider.close());
    const { port } = provider.address() as AddressInfo;
    const env = { ANTHROPIC_API_KEY: "wrong-key-wrong-key", ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` };
    const refusal =
      /anthropic refuses the key in ANTHROPIC_API_KEY for claude-\S+: check the key and its account, or choose another model/;
    const person = await createPerson();
    const terminal = await open(person, ["init"], { columns: 200, env });
    await terminal.until(/mode of new sessions: *\n› review +ask before .*\n {2}auto/);
    await terminal.press("Down", "Enter");
    const done = await terminal.until(/EXIT 0/);
    expect(done).toMatch(/wrote \S+config\.json: sessions open in auto/);
    expect(done).toMatch(new RegExp(`✗ model {2}${refusal.source} \\(401\\)`));
    expect(done).toMatch(
      /"agent_servers": \{\s+"otter": \{\s+"type": "custom",\s+"command": "otter",\s+"args": \[\s+"acp"/,
    );
    const config = JSON.parse(await readFile(join(person.home, ".chimera/config.json"), "utf8"));
    expect(config.safety).toEqual({
      read_only: false,
      require_approval_for_writes: false,
      require_approval_for_execute: false,
    });
    // A turn that uses the key reports the same.
    expect(await person.type(["-p", "hi"], { env })).toMatchObject({ code: 1, stderr: expect.stringMatching(refusal) });

    const scripted = await createPerson();
    const { code, stdout, stderr } = await scripted.type(["init"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/sessions open in review[\s\S]*! model {2}no model key is set/);
  },
);

test("an unknown setting is reported in a sentence, and --plain redraws nothing", onTerminal, async () => {
  const person = await createPerson();
  await mkdir(join(person.home, ".chimera"), { recursive: true });
  await writeFile(join(person.home, ".chimera/config.json"), '{"modle": "x"}');
  const write = { call: "Write", args: { path: "a.txt", content: "x\n" } };
  const model = await person.script([{ steps: [{ reply: [write] }, { reply: [{ text: "Written." }] }] }]);
  const terminal = await open(person, ["--model", model, "--plain"], { columns: 120, rows: 24 });
  const first = await terminal.until(/lists commands/);
  expect(first).toMatch(/^\[otter\] .*unknown setting "modle"; did you mean model\?$/m);
  await terminal.type("go");
  await terminal.press("Enter");
  await terminal.until(/\+x\n[\s\S]*\[1\] Allow edits[\s\S]*\[y\]es/);
  await terminal.type("y");
  await terminal.press("Enter");
  await terminal.until(/✓ Write a\.txt[\s\S]*Written\./);
  await terminal.press("C-d");
  await terminal.until(/EXIT 0/);
  expect(await terminal.history()).not.toMatch(/⠋|⠙|⠹/);
});
