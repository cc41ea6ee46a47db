/** The built-in agent's tools on a real terminal: a job, tasks, a question, a skill, a page. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createPerson, type Person } from "./person.js";
import { isAlive, onTerminal, open, type Terminal } from "./terminal.js";

const bash = (command: string, more: object = {}) => ({ call: "Bash", args: { command, ...more } });
const said = (text: string) => ({ reply: [{ text }] });

async function tell(terminal: Terminal, text: string): Promise<void> {
  await terminal.type(text);
  await terminal.press("Enter");
}

/** A program whose agent follows a script. */
async function addHelper(person: Person, steps: readonly object[]): Promise<void> {
  const model = await person.script([{ steps }], { repeat: true });
  await mkdir(join(person.home, ".chimera/agent"), { recursive: true });
  const head = `mode: subagent\nmodel: ${model}`;
  await writeFile(join(person.home, ".chimera/agent/helper.md"), `---\n${head}\n---\nHelp.`);
}

/** Whether the process is alive whose id a command wrote to a file. */
const lives = async (file: string) => isAlive(Number(await readFile(file, "utf8")));

test("a running job is shown, can be read later, and ends with the program", onTerminal, async () => {
  const person = await createPerson();
  const server = "echo $$ > pid; echo up; until [ -e go ]; do sleep 0.1; done; echo ready; exec sleep 600";
  const failing = "until [ -e fall ]; do sleep 0.1; done; echo broken; exit 3";
  const model = await person.script([
    { steps: [{ reply: [bash(server, { background: true })] }, said("Started.")] },
    {
      steps: [
        { reply: [{ call: "job", args: { id: "job-0.1" } }] },
        { ...said("It is ready."), expect: { result: "ready" } },
      ],
    },
    { steps: [{ reply: [bash(failing, { background: true })] }, said("Started another.")] },
  ]);
  const terminal = await open(person, ["--model", model, "--mode", "auto"]);
  await terminal.until(/^>$/m);
  await tell(terminal, "start it");
  await terminal.until(/job-0\.1 continues: echo \$\$ > pid[\s\S]*Started\.[\s\S]*job-0\.1 runs: .* · up\n>$/m);
  await writeFile(join(person.cwd, "go"), "");
  await terminal.until(/job-0\.1 runs: .* · ready\n>$/m);
  await tell(terminal, "is it up?");
  await terminal.until(/✓ Read job-0\.1[\s\S]*It is ready\./);
  await tell(terminal, "another");
  await terminal.until(/Started another\.[\s\S]*job-2\.1 runs: until /);
  await writeFile(join(person.cwd, "fall"), "");
  await terminal.until(/job-2\.1 ended \(exit code 3\)\n {2}broken\n/);
  const pid = join(person.cwd, "pid");
  expect(await lives(pid)).toBe(true);
  await terminal.press("C-d");
  await terminal.until(/EXIT 0/);
  await expect.poll(() => lives(pid), { timeout: 10_000 }).toBe(false);
});

test("tasks are folded and unfold on demand, and a cancel ends their commands", onTerminal, async () => {
  const person = await createPerson();
  await writeFile(join(person.cwd, "README.md"), "# It\n");
  const wait = "echo $$ > pid-$$; until [ -e go ]; do sleep 0.1; done";
  const read = { call: "Read", args: { path: "README.md" } };
  await addHelper(person, [{ reply: [{ text: "I look." }, read] }, { reply: [bash(wait)] }, said("It is **good**.")]);
  const task = (prompt: string) => ({ call: "task", args: { prompt, agent: "helper" } });
  const model = await person.script([
    { steps: [{ reply: [task("Look at it")] }, said("Looked.")] },
    { steps: [{ reply: [task("Look left"), task("Look right")] }, said("Never.")] },
  ]);
  const terminal = await open(person, ["--model", model, "--mode", "auto"]);
  await terminal.until(/^>$/m);
  await tell(terminal, "go");
  await terminal.until(/▸ helper: Look at it\n {2}echo \$\$ > pid.*\n\n. helper: Look at it [\d.]+m?s/);
  await writeFile(join(person.cwd, "go"), "");
  const done = await terminal.until(/✓ helper: Look at it \S+ · 2 tool calls · Ctrl-O shows it\n[\s\S]*Looked\./);
  expect(done).not.toContain("I look.");
  await terminal.press("C-o");
  await terminal.until(/│ I look\.\n│ *\n│ ✓ Read README\.md \S+\n│ ✓ echo [\s\S]*\n│ It is good\.\n/);

  const started = async () => (await readdir(person.cwd)).filter((name) => name.startsWith("pid-"));
  for (const name of ["go", ...(await started())]) await rm(join(person.cwd, name));
  await tell(terminal, "both");
  await terminal.until(/ {2}helper: Look left · echo .*\n {2}helper: Look right · echo /);
  await expect.poll(async () => (await started()).length, { timeout: 10_000 }).toBe(2);
  const files = (await started()).map((name) => join(person.cwd, name));
  for (const file of files) expect(await lives(file)).toBe(true);
  await terminal.press("Escape");
  const cancelled = await terminal.until(/^cancelled$/m);
  expect(cancelled).not.toContain("Never.");
  for (const file of files) await expect.poll(() => lives(file), { timeout: 10_000 }).toBe(false);
});

/** Connections to this name go to this machine. The check whether the name may be reached stays in force. */
const HOST = "pages.example";
const TO_LOOPBACK = `import net from "node:net"; const { connect } = net.Socket.prototype; net.Socket.prototype.connect = function (...args) { const to = [args[0]].flat()[0]; if (to?.host === "${HOST}") { to.host = "127.0.0.1"; delete to.lookup; } return connect.apply(this, args); };`;

test(
  "a skill is read, a page is fetched, an address of this machine is refused, a question is answered",
  onTerminal,
  async () => {
    const person = await createPerson();
    const pages = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<html><body><h1>Tides</h1><p>High at <b>noon</b>.</p></body></html>");
    });
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void pages.close());
    const { port } = pages.address() as AddressInfo;
    await mkdir(join(person.home, ".chimera/skills/greet"), { recursive: true });
    await writeFile(
      join(person.home, ".chimera/skills/greet/SKILL.md"),
      "---\nname: greet\ndescription: How to greet\n---\nSay ahoy.\n",
    );
    const fetch = (host: string) => ({ call: "web_fetch", args: { url: `http://${host}:${port}/tides` } });
    const model = await person.script([
      {
        steps: [
          { reply: [{ call: "skill", args: { name: "greet" } }] },
          { expect: { result: "Say ahoy." }, reply: [fetch(HOST)] },
          { expect: { result: "High at noon." }, reply: [fetch("127.0.0.1")] },
          {
            expect: { result: "not on the public internet" },
            reply: [{ call: "ask", args: { question: "When?", options: ["now", "later"] } }],
          },
          { expect: { result: "later" }, ...said("Ahoy, later.") },
        ],
      },
    ]);
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TO_LOOPBACK)}` };
    const terminal = await open(person, ["--model", model], { env });
    await terminal.until(/^>$/m);
    await tell(terminal, "go");
    // Fetching a page needs permission, and a private address is refused even with it.
    await terminal.until(new RegExp(`\\? web_fetch .*${HOST}:${port}/tides[\\s\\S]*\\[y\\]es`));
    await terminal.type("y");
    await terminal.until(new RegExp(`\\? web_fetch .*127\\.0\\.0\\.1:${port}/tides[\\s\\S]*\\[y\\]es`));
    await terminal.type("y");
    await terminal.until(
      /✓ Skill greet[\s\S]*✓ Fetch pages\.example[\s\S]*✗ Fetch 127\.0\.0\.1[\s\S]*\? When\?\n {2}1\. now[\s\S]*^>$/m,
    );
    await tell(terminal, "2");
    await terminal.until(/answer: later[\s\S]*Ahoy, later\./);
  },
);
