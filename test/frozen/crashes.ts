// Sessions whose process was killed: in a turn, while it waited for an answer, in the middle of an undo.
import { mkdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Server, type SseFrame, startServer, until } from "../server.js";
import { bash, type Made, model, say, turn, workspace, write } from "./made.js";
import { end, prompt, surroundings } from "./over-http.js";
import { HOME, PLACE } from "./place.js";

const DYING = fileURLToPath(new URL("../../packages/snapshot-store/test/children/dying-fs.mjs", import.meta.url));

/** The moments of an undo at which a process was killed, as calls of the file system that it did not make any more. */
const MOMENTS = {
  /** Everything is prepared; nothing in the workspace has changed. */
  "undo-prepared": () => ({ DIE_IN: "renameSync", DIE_ON: "restore.json", DIE_AT: "2" }),
  /** Half of the files are restored. */
  "undo-halfway": () => ({ DIE_IN: "renameSync", DIE_ON: "/b.txt", DIE_AT: "1" }),
  /** All files are restored and the journal is gone, but the log does not say so yet. */
  "undo-unrecorded": (id: string) => ({ DIE_IN: "openSync", DIE_ON: `/snapshots/${id}`, DIE_AT: "4" }),
} as const;

type Moment = keyof typeof MOMENTS;
const NAMES = Object.keys(MOMENTS) as Moment[];
const UNDONE = [
  turn(write("a.txt", "one\n"), write("b.txt", "one\n")),
  turn(write("a.txt", "two\n"), write("b.txt", "two\n"), write("c.txt", "two\n"), write("new.txt", "two\n")),
];

export async function makeCrashes(made: Made): Promise<void> {
  await firstTurn(made);
  await secondTurn(made);
  await unanswered(made);
  await undos(made);
}

// --- internal ---

async function kill(server: Server): Promise<void> {
  server.program.child.kill("SIGKILL");
  await server.program.exited;
}

async function killWhen(server: Server, id: string, comes: (frame: SseFrame) => boolean): Promise<void> {
  await until(server.frames(`/sessions/${id}/events`), comes);
  await kill(server);
}

const stall = { steps: [{ reply: [say("Thinking about it. "), { stall: true }] }] };

/** Killed while the model was speaking, for the first time in this session. */
async function firstTurn(made: Made): Promise<void> {
  const server = await startServer([], {}, surroundings());
  const using = { cwd: workspace("first-turn"), model: model("first-turn", [stall]) };
  const { body } = await server.ask("POST /sessions", { body: { prompt: "the first and the last", ...using } });
  made.set("first-turn", body.session_id);
  await killWhen(server, body.session_id, ({ event }) => event === "text_delta");
}

/** Killed after an edit and in a command; a second prompt waited. */
async function secondTurn(made: Made): Promise<void> {
  const server = await startServer([], {}, surroundings());
  const cwd = workspace("second-turn", {
    "a.txt": "zero\n",
    "slow.sh": "echo started; printf 'two\\n' > b.txt; sleep 300\n",
  });
  const half = { steps: [{ reply: [write("a.txt", "two\n")] }, { reply: [bash("sh slow.sh")] }] };
  const { id } = await server.run("turn 0", {
    cwd,
    model: model("second-turn", [turn(write("a.txt", "one\n")), half]),
  });
  made.set("second-turn", id);
  for (const text of ["turn 1", "turn 2, which never ran"])
    await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: text } });
  await killWhen(server, id, ({ event, data }) => event === "tool_progress" && data.metadata.chunk.includes("started"));
}

/** Killed while a question waited: once never looked at again, once denied by the process that opened it next. */
async function unanswered(made: Made): Promise<void> {
  for (const name of ["unanswered", "denied-by-crash"]) {
    const server = await startServer([], {}, surroundings());
    const using = { cwd: workspace(name), model: model(name, [turn(), turn(bash("touch asked.txt"))]) };
    const { id } = await server.run("turn 0", using);
    made.set(name, id);
    await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "turn 1" } });
    await killWhen(server, id, ({ event }) => event === "permission_request");
  }
  const server = await startServer([], {}, surroundings());
  await prompt(server, made.get("denied-by-crash")!, "/model");
  await end(server);
}

/** Sessions of two turns, of which the second is being undone. */
async function undos(made: Made): Promise<void> {
  const server = await startServer([], {}, surroundings());
  for (const name of NAMES) {
    const cwd = workspace(name, { "a.txt": "zero\n", "b.txt": "zero\n", "c.txt": "zero\n" });
    const { id } = await server.run("turn 0", { cwd, model: model(name, UNDONE) });
    made.set(name, id);
    await prompt(server, id, "turn 1");
  }
  await end(server);
  // The next server to start would settle an undo that was interrupted: what the store knows of it is out of sight until the end.
  const ids = NAMES.map((name) => made.get(name)!);
  const aside = join(PLACE, "aside");
  mkdirSync(aside);
  for (const name of NAMES) {
    await killInUndo(name, made.get(name)!);
    renameSync(join(HOME, "snapshots", made.get(name)!), join(aside, made.get(name)!));
  }
  for (const id of ids) renameSync(join(aside, id), join(HOME, "snapshots", id));
  rmdirSync(aside);
}

async function killInUndo(name: Moment, id: string): Promise<void> {
  const env = { NODE_OPTIONS: `--import ${DYING}`, ...MOMENTS[name](id) };
  const server = await startServer([], env, surroundings());
  await server.ask(`POST /sessions/${id}/undo`, { body: {} }).catch(() => {});
  if ((await server.program.exited) !== null) throw new Error(`${name}: it was not killed`);
}
