// Sessions of otter over HTTP: plain ones, edits with undo and redo, conflicts, forks, slash commands, answers that are kept.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Server, type SseFrame, startServer, until } from "../server.js";
import { bash, call, type Made, model, put, say, turn, workspace, write } from "./made.js";
import { HOME, WORK } from "./place.js";

const ENDS = new Set(["agent_result", "cancelled"]);

/** What a server with this home is started with. */
export const surroundings = () => ({ home: HOME, cwd: workspace("start") });

/** One more turn of a session, to its end. */
export async function prompt(server: Server, id: string, text: string): Promise<SseFrame[]> {
  const before = await server.ask(`GET /sessions/${id}`);
  const accepted = await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: text } });
  if (accepted.status !== 202) throw new Error(`${text}: ${JSON.stringify(accepted.body)}`);
  const headers = { "last-event-id": String(before.body.event_count) };
  return until(server.frames(`/sessions/${id}/events`, { headers }), ({ event }) => ENDS.has(event));
}

export async function end(server: Server): Promise<void> {
  server.program.child.kill("SIGTERM");
  if ((await server.program.exited) !== 0) throw new Error(server.program.stderr());
}

export async function makeOverHttp(made: Made): Promise<void> {
  writeUserFiles();
  const server = await startServer([], {}, surroundings());
  const start = async (name: string, text: string, turns?: object[], options: object = {}) => {
    const cwd = options && "cwd" in options ? options.cwd : workspace(name);
    const using = turns ? { model: model(name, turns) } : {};
    const { id } = await server.run(text, { cwd, ...using, ...options });
    made.set(name, id);
    return id;
  };
  await plain(server, start);
  await edits(server, start, made);
  await conflicts(server, start);
  await slashCommands(server, start);
  await endings(server, start, made);
  await answers(server, start, made);
  await end(server);
  await reopened(made);
}

// --- internal ---

type Start = (name: string, text: string, turns?: object[], options?: object) => Promise<string>;

function writeUserFiles(): void {
  const rules = [
    { tool: "Write", action: "allow" },
    { tool: "Edit", action: "allow" },
    { tool: "Bash", action: "allow", arg_key: "command", arg_pattern: "sh *" },
    { tool: "Bash", action: "allow", arg_key: "command", arg_pattern: "sleep *" },
  ];
  put(join(HOME, "permissions.json"), JSON.stringify({ rules }, null, 2));
  put(join(HOME, "config.json"), JSON.stringify({ max_steps: 20 }, null, 2));
}

/** The offline model, a name given by a person, a limit its maker set. */
async function plain(server: Server, start: Start): Promise<void> {
  const id = await start("plain", "list files and read README.txt");
  await prompt(server, id, "search for This");
  await server.ask(`POST /sessions/${id}/title`, { body: { title: "Looking around" } });
  await start("bounded", "list files", undefined, { max_steps: 3, allowed_tools: ["list_files", "read_file"] });
}

/** Six turns by tools and by commands; three taken back, one of them brought back again. */
async function edits(server: Server, start: Start, made: Made): Promise<void> {
  const cwd = workspace("edits", { "a.txt": "zero\n", "gone.txt": "still here\n", "deep/b.txt": "zero\n" });
  put(
    join(cwd, "change.sh"),
    "printf 'by a command\\n' > made.txt; rm gone.txt; mkdir -p new/dir; printf x > new/dir/c.txt\n",
  );
  put(join(cwd, "modes.sh"), "chmod +x change.sh; ln -s a.txt link; printf 'three\\n' > a.txt\n");
  const turns = [
    turn(write("a.txt", "one\n"), write("deep/b.txt", "one\n"), write("new.txt", "one\n")),
    turn(call("Edit", { path: "a.txt", old_string: "one", new_string: "two" })),
    turn(bash("sh change.sh")),
    turn(bash("sh modes.sh")),
    turn(write("a.txt", "four\n")),
    { steps: [{ reply: [say("Nothing to change here.")] }] },
  ];
  const id = await start("edits", "turn 0", turns, { cwd });
  for (let n = 1; n < turns.length; n++) await prompt(server, id, `turn ${n}`);
  await server.ask(`POST /sessions/${id}/undo`, { body: { steps: 3 } });
  await server.ask(`POST /sessions/${id}/redo`, { body: {} });
  const { body } = await server.ask(`POST /sessions/${id}/fork`, { body: { turn: 1 } });
  made.set("fork", body.session_id);
  await prompt(server, body.session_id, "go on in the fork");
}

/** A person changed a file after the agent: undo keeps it, and says so. */
async function conflicts(server: Server, start: Start): Promise<void> {
  const cwd = workspace("conflict", { "kept.txt": "zero\n", "free.txt": "zero\n" });
  const turns = [
    turn(write("kept.txt", "one\n"), write("free.txt", "one\n")),
    turn(write("kept.txt", "two\n"), write("free.txt", "two\n")),
  ];
  const id = await start("conflict", "turn 0", turns, { cwd });
  await prompt(server, id, "turn 1");
  writeFileSync(join(cwd, "kept.txt"), "by a person\n");
  const { body } = await server.ask(`POST /sessions/${id}/undo`, { body: {} });
  if (body.conflicts.length !== 1) throw new Error(`no conflict: ${JSON.stringify(body)}`);
}

/** Undo by prompt, a cleared conversation, and a compacted one. */
async function slashCommands(server: Server, start: Start): Promise<void> {
  const cwd = workspace("slash", { "a.txt": "zero\n" });
  const turns = [1, 2, 3].map((n) => turn(write("a.txt", `${n}\n`)));
  const id = await start("slash", "turn 0", turns, { cwd });
  for (const text of ["turn 1", "/undo", "/redo", "/undo 2", "/redo", "/model", "turn 1 again"])
    await prompt(server, id, text);
  const cleared = await start("cleared", "first", [{ steps: [{ reply: [say("An answer of some length.")] }] }]);
  for (const text of ["/clear", "second", "/compact", "third"]) await prompt(server, cleared, text);
}

/** Turns that end otherwise: cancelled, failed, and a session torn down. */
async function endings(server: Server, start: Start, made: Made): Promise<void> {
  const stall = { steps: [{ reply: [say("So far, so good. "), { stall: true }] }] };
  const using = { model: model("cancelled", [turn(write("a.txt", "1\n")), stall]), cwd: workspace("cancelled") };
  const { id } = await server.run("turn 0", using);
  made.set("cancelled", id);
  await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "this takes long" } });
  const isSaid = ({ event, data }: SseFrame) => event === "text_delta" && data.turn === 1;
  await until(server.frames(`/sessions/${id}/events`), isSaid);
  await server.ask(`POST /sessions/${id}/cancel`);
  await until(server.frames(`/sessions/${id}/events`), ({ event }) => event === "cancelled");
  await start("failed", "this fails", [{ steps: [{ reply: [say("Almost. "), { error: { code: "bad_request" } }] }] }]);
  const gone = await start("torn-down", "list files");
  await server.ask(`DELETE /session/${gone}`);
}

/** Questions answered for good: one command always, one never. */
async function answers(server: Server, start: Start, made: Made): Promise<void> {
  const cwd = workspace("remembered");
  const turns = [turn(bash("touch always.txt")), turn(bash("touch never.txt")), turn(bash("touch once.txt"))];
  const using = { model: model("remembered", turns), cwd };
  const { body } = await server.ask("POST /sessions", { body: { prompt: "turn 0", ...using } });
  made.set("answered", body.session_id);
  for (const [n, decision] of ["always", "never", "allow"].entries()) {
    if (n > 0) await server.ask(`POST /sessions/${body.session_id}/turns`, { body: { prompt: `turn ${n}` } });
    const isAsked = ({ event, data }: SseFrame) => event === "permission_request" && data.turn === n;
    const frames = await until(server.frames(`/sessions/${body.session_id}/events`), isAsked);
    const { permission_id } = frames.at(-1)!.data.metadata;
    await server.ask(`POST /sessions/${body.session_id}/permissions/${permission_id}`, { body: { decision } });
    await until(
      server.frames(`/sessions/${body.session_id}/events`),
      ({ data }) => data.turn === n && data.type === "agent_result",
    );
  }
  await start("remembered", "turn 0", turns, { cwd });
  rmSync(join(WORK, "remembered", "always.txt"));
}

/** Two more processes continue a session, with a segment each. */
async function reopened(made: Made): Promise<void> {
  for (const text of ["list files", "read README.txt"]) {
    const server = await startServer([], {}, surroundings());
    await prompt(server, made.get("plain")!, text);
    await end(server);
  }
}
