/** Every command once in a fresh home, with its output compared. */
import { existsSync } from "node:fs";
import { lutimes, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createPerson, type Person, type Typed } from "./person.js";

/** Replaces the parts that differ between runs: ids, times, paths. */
function settled(person: Person, text: string): string {
  return text
    .replaceAll(person.home, "HOME")
    .replaceAll(person.cwd, "WORK")
    .replace(/otter-\d{8}T\d{6}-[0-9a-f]{8}/g, "otter-YYYYMMDDTHHMMSS-xxxxxxxx")
    .replace(/\b\d+(\.\d)?m?s\b/g, "Nms")
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z)?/g, (found) => found.replace(/\d/g, "0"));
}

async function talk(person: Person): Promise<string> {
  const model = await person.script(
    [
      {
        steps: [
          { reply: [{ text: "Looking. " }, { call: "list_files", args: {} }, { usage: { input: 100, output: 20 } }] },
          { reply: [{ text: "There is *one* file.", chunks: 4 }, { usage: { input: 200, output: 10 } }] },
        ],
      },
    ],
    { price: { input: 3, output: 15 } },
  );
  await writeFile(join(person.cwd, "notes.txt"), "hello\n");
  const { stderr } = await person.type(["-p", "what is here?", "--model", model, "--title", "First look"]);
  return /run saved as (\S+)/.exec(stderr)?.[1] ?? "";
}

const ok = ({ code, stdout, stderr }: Typed) => {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
};

test("an empty home has nothing to show", async () => {
  const person = await createPerson();
  expect(ok(await person.type(["sessions", "list"]))).toMatch(/^ID .* PROMPT\n\(no persisted sessions found\)\n$/);
  expect(JSON.parse(ok(await person.type(["sessions", "list", "--sessions-json"])))).toEqual([]);
  expect(JSON.parse(ok(await person.type(["stats", "--json"]))).total_runs).toBe(0);
  expect(await person.type(["sessions", "search", "x"])).toMatchObject({ code: 1, stdout: "(nothing found)\n" });
});

test("sessions: list, show, cost, rename, search, gc", async () => {
  const person = await createPerson();
  const id = await talk(person);
  const shown = async (...args: string[]) => settled(person, ok(await person.type(args)));
  expect(await shown("sessions", "list")).toMatchInlineSnapshot(`
    "ID                              STARTED           STATE    MODEL                   COST  TITLE                           PROMPT
    otter-YYYYMMDDTHHMMSS-xxxxxxxx  0000-00-00 00:00  idle     scripted:../scrip…   $0.0014  First look                      what is here?
    "
  `);
  expect(await shown("sessions", "show", id)).toMatchInlineSnapshot(`
    "session     otter-YYYYMMDDTHHMMSS-xxxxxxxx
    title       First look
    prompt      what is here?
    model       scripted:../script-0.json
    cwd         WORK
    started     0000-00-00 00:00
    ended       0000-00-00 00:00
    turns       1
    steps       2
    tool calls  1
    tokens      330
    cost        $0.001350
    success     true
    path        HOME/.chimera/eventlog/otter-YYYYMMDDTHHMMSS-xxxxxxxx

    > what is here?
    Looking. 

    ✓ List . Nms

    There is one file.
    context 0 % · 2 steps · 1 tool call · $0.0014 · Nms

    "
  `);
  expect(await shown("sessions", "cost")).toMatchInlineSnapshot(`
    "SESSION_ID                              DATE              MODEL                     STEPS      TOKENS        COST  OK
    otter-YYYYMMDDTHHMMSS-xxxxxxxx          0000-00-00 00:00  scripted:../script-0.js…      2         330     $0.0014  yes

    MODEL                      RUNS  TOKENS     COST
    scripted:../script-0.json     1     330  $0.0014

    total: 1 run, 330 tokens, $0.0014
    "
  `);
  expect(await shown("sessions", "cost", "--format", "csv")).toMatchInlineSnapshot(`
    "run_id,started_at,model,cost_usd,total_tokens,input_tokens,output_tokens,cache_tokens,success,steps
    otter-YYYYMMDDTHHMMSS-xxxxxxxx,0000-00-00T00:00:00Z,scripted:../script-0.json,0.001350,330,300,30,0,true,2
    "
  `);
  expect(await shown("sessions", "rename", id, "Second", "thoughts")).toMatchInlineSnapshot(`
    "otter-YYYYMMDDTHHMMSS-xxxxxxxx is now called Second thoughts
    "
  `);
  const colourless = await person.type(["sessions", "search", "one* FILE", "--no-color"], {
    env: { FORCE_COLOR: "1" },
  });
  expect(ok(colourless)).not.toContain("\u001b");
  expect(await shown("sessions", "search", "one* FILE")).toMatchInlineSnapshot(`
    "otter-YYYYMMDDTHHMMSS-xxxxxxxx  turn 0  There is *one* file.
    "
  `);
  expect(await shown("sessions", "gc")).toMatchInlineSnapshot(`
    "0 empty sessions, 0 leftovers and 0 snapshot blobs removed, 0 bytes freed
    "
  `);
  const [row] = JSON.parse(ok(await person.type(["sessions", "list", "--json", "--limit", "1", "--since", "1h"])));
  expect(Object.keys(row).join()).toBe(
    "session_id,started_at,ended_at,model,prompt,title,success,cost_usd,steps,tool_calls,path,error,cli_origin,state",
  );
  expect(row).toMatchObject({ session_id: id, title: "Second thoughts", steps: 2, tool_calls: 1, success: true });
  const whole = JSON.parse(ok(await person.type(["sessions", "show", id, "--json"])));
  expect(Object.keys(whole).join()).toBe("session_id,path,summary,events");
  expect(await person.type(["sessions", "list", "--model", "other"])).toMatchObject({ code: 0 });
}, 60_000);

test("the beginning or the end of an id is enough unless several sessions match", async () => {
  const person = await createPerson();
  const [first, second] = [await talk(person), await talk(person)];
  const tail = first.slice(-8);
  expect(ok(await person.type(["sessions", "show", tail]))).toContain(`session     ${first}`);
  expect(ok(await person.type(["export", tail, "md"]))).toContain("### You\n\n```\nwhat is here?\n```");
  expect(ok(await person.type(["sessions", "rename", tail, "Mine"]))).toBe(`${first} is now called Mine\n`);
  expect(await person.type(["-p", "/cost", "--resume", tail])).toMatchObject({ code: 0 });
  expect(await person.type(["sessions", "show", "otter-2"])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^otter sessions: otter-2 fits 2 sessions: otter-\S+, otter-\S+\n$/),
  });
  expect(await person.type(["sessions", "delete", "nope-nope", tail])).toMatchObject({ code: 2 });
  expect(ok(await person.type(["sessions", "delete", tail]))).toBe(`${first} is deleted: what is here?\n`);
  expect(await person.type(["sessions", "show", first])).toMatchObject({ code: 2 });
  expect(existsSync(join(person.home, ".chimera/eventlog", first))).toBe(false);
  expect(ok(await person.type(["sessions", "list"]))).toContain(second);
}, 60_000);

test("sessions gc applies limits of age, number and size, and a dry run shows what it would remove", async () => {
  const person = await createPerson();
  const ids: string[] = [];
  for (let at = 0; at < 4; at++) ids.push(await talk(person));
  const list = async () =>
    JSON.parse(ok(await person.type(["sessions", "list", "--json"]))) as { session_id: string }[];
  const left = async () => (await list()).map(({ session_id }) => session_id).sort();
  const touch = async (id: string, days: number) => {
    const directory = join(person.home, ".chimera/eventlog", id);
    const time = new Date(Date.now() - days * 86_400_000);
    for (const name of await readdir(directory)) await lutimes(join(directory, name), time, time);
  };
  for (const [at, id] of ids.entries()) await touch(id, 40 - 10 * at);
  const [oldest = "", second = "", third = "", newest = ""] = ids;

  const told = ok(await person.type(["sessions", "gc", "--older-than", "35d", "--keep", "2", "--dry-run"]));
  expect(told).toMatch(
    new RegExp(
      `${second} .* --keep .*\\n${oldest} .* --older-than .*\\n2 sessions past the limits, .*would be removed`,
    ),
  );
  expect(await left()).toEqual([...ids].sort());
  expect(ok(await person.type(["sessions", "gc", "--older-than", "35d"]))).toMatch(
    /^otter-.* --older-than .*\n1 sessions past/,
  );
  expect(await left()).toEqual([second, third, newest].sort());
  ok(await person.type(["sessions", "gc", "--keep", "2"]));
  expect(await left()).toEqual([third, newest].sort());
  expect(existsSync(join(person.home, ".chimera/eventlog", second))).toBe(false);
  const directory = join(person.home, ".chimera/eventlog", newest);
  const sizes = (await readdir(directory)).map(async (name) => (await stat(join(directory, name))).size);
  const size = (await Promise.all(sizes)).reduce((sum, one) => sum + one, 0);
  expect(ok(await person.type(["sessions", "gc", "--max-bytes", "1G"]))).toMatch(/^0 empty/);
  const report = JSON.parse(ok(await person.type(["sessions", "gc", "--max-bytes", String(size + 50), "--json"])));
  expect(report).toMatchObject({
    sessions_removed: 1,
    sessions: [{ session_id: third, why: "bytes" }],
    dry_run: false,
  });
  expect(await left()).toEqual([newest]);
  const deletion = join(person.home, `.chimera/eventlog/.deleted-${third}-0123abcd`);
  await mkdir(deletion);
  expect(ok(await person.type(["sessions", "gc", "--dry-run"]))).toContain(" 1 leftovers would be removed");
  expect(existsSync(deletion)).toBe(true);
  expect(ok(await person.type(["sessions", "gc"]))).toContain(" 1 leftovers ");
  expect(await person.type(["sessions", "gc", "--max-bytes", "much"])).toMatchObject({ code: 2 });
}, 60_000);

test("sessions gc removes only the program's own files, wherever its directories point", async () => {
  const person = await createPerson();
  const [root, home] = [join(person.home, "pictures"), join(person.home, ".chimera")];
  const sha = "a".repeat(64);
  const [mine, mixed] = ["otter-20200101T000000-aaaaaaaa", "otter-20200101T000000-bbbbbbbb"];
  const theirs = [
    join(root, "summer/beach.jpg"),
    join(root, "archive/blobs/notes.txt"),
    join(root, "thesis/history.ndjson/chapter"),
    join(root, mixed, "history.ndjson"),
    join(root, mixed, "notes.txt"),
    join(root, ".baselines/thesis/draft.txt"),
    join(person.home, "elsewhere/history.ndjson"),
    join(home, "outputs/reports/june.txt"),
    join(home, "outputs", mixed, "june.pdf"),
    join(home, "eventlog/.new-letters/dear.txt"),
    join(home, "eventlog/letters/dear.txt"),
    join(home, `eventlog/.deleted-${mixed}-0123abcd`, "dear.txt"),
    join(home, "run/beat-tape.wav"),
  ];
  const own = [
    join(root, mine, "history.ndjson"),
    join(root, mine, "blobs", sha),
    join(root, mine, "snaps/snap-1-1794900183526/manifest.json"),
    join(root, ".baselines", sha.slice(32), "facts.ndjson"),
    join(home, "outputs", mine, "call-1.txt"),
    join(home, `eventlog/.deleted-${mine}-0123abcd`, "summary.json"),
  ];
  for (const path of [...theirs, ...own]) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, "kept");
  }
  await symlink(join(person.home, "elsewhere"), join(root, "linked"));
  const past = new Date("2020-01-01");
  for (const path of (await readdir(person.home, { recursive: true })).sort().reverse())
    await lutimes(join(person.home, path), past, past);
  const { code, stdout } = await person.type(["sessions", "gc"], { env: { CHIMERA_SNAPSHOT_ROOT: root } });
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(" 3 leftovers and ") });
  expect(own.filter((path) => existsSync(path))).toEqual([]);
  expect([...theirs, join(root, "linked")].filter((path) => !existsSync(path))).toEqual([]);
});

test.runIf(process.platform === "linux")("a home that cannot be written is named, with what to do", async () => {
  const person = await createPerson();
  const env = { CHIMERA_HOME: "/proc/nothing" };
  expect(await person.type(["sessions", "gc"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/cannot write to \/proc\/nothing \(ENOENT\); set CHIMERA_HOME to a directory/),
  });
  const answers = join(person.home, ".chimera/trusted.json");
  await mkdir(answers, { recursive: true });
  expect(await person.type(["-p", "hi", "--trust"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`cannot write to ${answers} (EISDIR); set CHIMERA_HOME to a directory`),
  });
});

test("sessions gc leaves alone what belongs to the sessions of another store", async () => {
  const person = await createPerson();
  const elsewhere = ["--store", "file:elsewhere"];
  const file = async (id: string) => {
    const path = join(person.home, ".chimera/outputs", id, "call-1.txt");
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, "long");
    const blob = join(person.home, ".chimera/snapshots", id, "history.ndjson");
    await mkdir(dirname(blob), { recursive: true });
    await writeFile(blob, "");
    const past = new Date(Date.now() - 3 * 86_400_000);
    for (const one of [path, blob]) for (const at of [one, dirname(one)]) await lutimes(at, past, past);
    return [path, blob];
  };
  const gone = await file("otter-20200101T000000-aaaaaaaa");
  const here = await file(await talk(person));
  expect(ok(await person.type(["sessions", "gc", ...elsewhere]))).toContain("0 leftovers");
  expect([...here, ...gone].filter((path) => !existsSync(path))).toEqual([]);
  expect(ok(await person.type(["sessions", "gc"]))).toContain("2 leftovers");
  expect(gone.filter((path) => existsSync(path))).toEqual([]);

  await person.type(["-p", "list files", ...elsewhere]);
  const [{ session_id: other }] = JSON.parse(ok(await person.type(["sessions", "list", "--json", ...elsewhere])));
  const there = await file(other);
  expect(ok(await person.type(["sessions", "gc"]))).toContain("0 leftovers");
  expect([...here, ...there].filter((path) => !existsSync(path))).toEqual([]);
});

test("stats, share, export and import", async () => {
  const person = await createPerson();
  const id = await talk(person);
  const shown = async (...args: string[]) => settled(person, ok(await person.type(args)));
  expect(await shown("stats")).toMatchInlineSnapshot(`
    "runs          1 (1 ok, 0 failed)
    cost          $0.0014
    cost per run  avg $0.0014, p50 $0.0014, p95 $0.0014
    tokens        330 (300 in, 30 out, 0 cached)

    MODEL                      RUNS  TOKENS     COST
    scripted:../script-0.json     1     330  $0.0014
    "
  `);
  expect(await shown("share", id, "--format", "md")).toBe("HOME/.chimera/shares/otter-YYYYMMDDTHHMMSS-xxxxxxxx.md\n");
  expect(await shown("share", id, "--sink", "stdout", "--format", "md")).toContain("what is here?");
  expect(await shown("export", id, "html")).toMatch(/^<!doctype html>/i);
  expect(await shown("export", id, "--export-output", "run.json")).toBe("WORK/run.json\n");
  const bundle = JSON.parse(await readFile(join(person.cwd, "run.json"), "utf8"));
  expect(bundle).toMatchObject({ schema: "chimera.otter.session/1", summary: { session_id: id } });
  expect(await person.type(["import", "run.json"])).toMatchObject({ code: 1 });
  expect(ok(await person.type(["import", "run.json", "otter-again"]))).toBe(
    `imported ${bundle.events.length} events as otter-again\n`,
  );
  const again = JSON.parse(ok(await person.type(["sessions", "show", "otter-again", "--json"])));
  const essence = ({ seq, type, turn, metadata, ts }: Record<string, unknown>) => ({ seq, type, turn, metadata, ts });
  expect(again.events.map(essence)).toEqual(bundle.events.map(essence));
  expect(again.summary).toMatchObject({ session_id: "otter-again", prompt: "what is here?", turns: 1 });
  await person.type(["export", id, "--layout", "files", "-o", "files"]);
  expect((await readdir(join(person.cwd, "files"))).filter((name) => name.startsWith("event-"))).toHaveLength(
    bundle.events.length,
  );
  expect(ok(await person.type(["import", "files", "otter-third", "--json"]))).toContain('"skipped": 0');
  expect(ok(await person.type(["import", "run.json", "otter-third", "--import-overwrite"]))).toContain("otter-third");
  expect(
    ok(await person.type(["-p", "/cost", "--resume", "otter-again"]).then((run) => ({ ...run, stderr: "" }))),
  ).toBe("300 input, 30 output, 0 cached tokens; $0.0014\n");
}, 60_000);

test("models, tools, agents, commands, config, doctor, audit", async () => {
  const person = await createPerson();
  const shown = async (...args: string[]) => settled(person, ok(await person.type(args)));
  expect(await shown("models")).toBe("offline\n");
  expect(JSON.parse(await shown("models", "--format", "json"))).toEqual({ default: "offline", models: ["offline"] });
  const tools = await shown("tools");
  expect(tools).toMatch(/^NAME +ALSO +DESCRIPTION\nRead +read_file +Read a text file/);
  expect(tools).toMatch(/\nEdit .* Replace a passage of a text file\.\n/);
  expect(await person.type(["trust"])).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "no directory is trusted\n",
  });
  expect(JSON.parse(await shown("tools", "--json"))[0]).toMatchObject({
    name: "Read",
    input_schema: { type: "object" },
  });
  expect(await shown("agents")).toMatch(/\nplan +primary +read_only +built-in/);
  expect(await shown("agents", "show", "plan")).toContain("permission  read_only");
  expect(await shown("commands")).toMatch(/\n\/undo +built-in/);
  expect(await shown("config")).toMatch(
    /\ncors +- +default\n[\s\S]*\nlimits +- +default\n[\s\S]*\nmax_steps +- +default\n/,
  );
  await mkdir(join(person.home, ".chimera"), { recursive: true });
  await writeFile(join(person.home, ".chimera", "config.json"), '{"max_steps": 7, "modle": "x"}');
  const config = await person.type(["config"]);
  expect(config.stdout).toMatch(/\nmax_steps +7 +user: /);
  expect(config.stderr).toContain('unknown setting "modle"; did you mean model?');
  expect(await shown("audit", "verify")).toBe("0 entries in 0 chains: intact\n");
  const findings = JSON.parse((await person.type(["doctor", "--json", "--port", "0"])).stdout);
  expect(findings.map(({ check }: { check: string }) => check)).toEqual([
    "node",
    "config",
    "trust",
    "keys",
    "providers",
    "data",
    "store",
    "disk",
    "port",
    "sandbox",
    "audit",
  ]);
});

test("doctor reports a configuration that does not hold once, and names it where it stands in the way", async () => {
  const person = await createPerson();
  await mkdir(join(person.home, ".chimera"), { recursive: true });
  await writeFile(join(person.home, ".chimera", "config.json"), '{"port": "abc"}');
  const { code, stdout } = await person.type(["doctor"]);
  expect(code).toBe(1);
  expect(stdout.match(/port takes a whole number/g)).toHaveLength(1);
  expect(stdout).toMatch(/\n! keys +not checked\n +-> correct config first\n/);
});

test("completions know every command and its flags", async () => {
  const person = await createPerson();
  for (const shell of ["bash", "zsh", "fish"]) {
    const script = ok(await person.type(["completions", shell]));
    for (const word of ["serve", "sessions", "rename", "doctor", "sessions-limit", "output-format"])
      expect(script, shell).toContain(word);
  }
});

test.each([
  ["acp --url", "--help lists them"],
  ["import --new-id", "--help lists them"],
  ["engines --way", "--help lists them"],
  ["engines --login", "did you mean engines login?"],
  ["export --html", "did you mean export <id> html?"],
])("otter %s is an unknown option: %s", async (typed, advice) => {
  const person = await createPerson();
  const { code, stderr } = await person.type(typed.split(" "));
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`; ${advice}\n`) });
});

test("every command has help with an example", async () => {
  const person = await createPerson();
  const rows = /Commands:\n([\s\S]*?)\n\n/.exec(ok(await person.type(["--help"])))?.[1]?.split("\n") ?? [];
  const names = rows.map((row) => row.trim().split(" ", 1)[0] ?? "");
  expect(names).toEqual(expect.arrayContaining(["serve", "attach", "sessions", "undo", "doctor", "completions"]));
  for (const name of names) {
    const help = ok(await person.type([name, "--help"]));
    expect(help).toMatch(new RegExp(`Usage: otter ${name}[\\s\\S]*\\nExample: otter ${name}`));
  }
}, 60_000);

test.each([
  [["sessions", "show", "otter-20200101T000000-00000000"], 2],
  [["sessions", "show", "../../../etc/passwd"], 2],
  [["sessions", "show"], 2],
  [["sessions", "rename", "nope", "x"], 2],
  [["sessions", "list", "--since", "yesterday"], 2],
  [["sessions", "list", "--limit", "many"], 2],
  [["sessions", "cost", "--format", "xml"], 2],
  [["sessions", "destroy"], 2],
  [["share", "nope"], 2],
  [["share"], 2],
  [["export", "nope"], 2],
  [["import", "missing.json"], 2],
  [["import", "bad.json/missing.json"], 2],
  [["import", "bad.json"], 1],
  [["import", "other.json"], 1],
  [["undo", "nope"], 2],
  [["undo", "--steps", "0"], 2],
  [["agents", "show", "nobody"], 2],
  [["agents", "show", "plan", "build"], 2],
  [["completions", "tcsh"], 2],
  [["sessions", "list", "more"], 2],
  [["sessions", "show", "--limit"], 2],
  [["audit", "verify", "missing"], 2],
  [["attach", "here"], 2],
  [["attach"], 2],
  [["stats", "--format", "xml"], 2],
  [["config", "--cwd", "missing"], 2],
  [["serve", "--port", "many"], 2],
  [["serve", "--all"], 2],
  [["serve", "--host", "0.0.0.0"], 2],
  [["acp", "--mcp", "missing.json"], 2],
  [["-p", "hi", "--mcp", "bad.json"], 2],
  [["-p", "hi", "--cwd", "missing"], 2],
  [["-p", "hi", "--output-format", "xml"], 2],
  [["-p", "hi", "--max-steps", "0"], 2],
  [["-p", ""], 2],
  [["--resume", "a", "--continue"], 2],
  [["--resume", "nope"], 2],
])("%j exits %i with one line, which begins with the command", async (args, code) => {
  const person = await createPerson();
  await writeFile(join(person.cwd, "bad.json"), "{");
  await writeFile(join(person.cwd, "other.json"), '{"schema":"something/else"}');
  const run = await person.type(args);
  expect(run).toMatchObject({ code, stdout: "" });
  const called = args[0]?.startsWith("-") ? "otter" : `otter ${args[0]}`;
  expect(run.stderr).toMatch(new RegExp(`^${called}: [^\n]+\n$`));
});

test("an unwritable data directory is reported in one sentence, and no server starts", {
  tags: ["needs-linux"],
}, async () => {
  const person = await createPerson();
  const env = { CHIMERA_HOME: "/proc/nowhere/chimera" };
  for (const args of [["serve", "--port", "0"], ["-p", "hi"], ["init"]]) {
    const { code, stdout, stderr } = await person.type(args, { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^otter.*: cannot write to \/proc\/nowhere\/chimera \(ENOENT\); set CHIMERA_HOME .*\n$/);
  }
});

test("engines login uses the named way to log in, and lists the ways for an unknown one", async () => {
  const person = await createPerson();
  const agent = new URL("../../acp-engine/test/scripted-agent.mjs", import.meta.url).pathname;
  const login = (...way: string[]) =>
    person.type(["engines", "login", "command", ...way, "--engine-command", `${process.execPath} ${agent}`]);
  expect(ok(await login())).toBe("logged in by key\n");
  expect(ok(await login("key"))).toBe("logged in by key\n");
  const stderr = "otter engines: command offers these ways to log in: key\n";
  expect(await login("browser")).toMatchObject({ code: 1, stderr });
});
