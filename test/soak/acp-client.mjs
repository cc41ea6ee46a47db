// An editor: sessions over one program's stdin and stdout, with what it saw kept for the client that takes over after it.
import { createInterface } from "node:readline";
import { pause } from "./chance.mjs";

const TURN_LIMIT_MS = 60_000;
const SILENCE_MS = 1500;

/** Speaks standard ACP to a started program. `cursors` outlives it: the last event id seen, by session. */
export async function connectEditor({ program, ledger, chance, counts, cursors }) {
  const { child } = program;
  const waiting = new Map();
  const heard = new Map();
  let lastId = 0;
  let isGone = false;

  const write = (frame) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`);
  const notify = (method, params) => write({ method, params });
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      if (isGone) return reject(new Gone(method));
      const id = ++lastId;
      waiting.set(id, { resolve, reject, method });
      write({ id, method, params });
    });
  program.exited.then(() => {
    isGone = true;
    for (const { reject, method } of waiting.values()) reject(new Gone(method));
  });

  const updated = ({ sessionId, ...params }) => {
    heard.set(sessionId, Date.now());
    const eventId = params._meta?.["chimera.dev/eventId"];
    // Settings arrive live, as they are now; a replay does not contain them.
    if (eventId === undefined || params.update.sessionUpdate === "config_option_update") return;
    ledger.update(sessionId, eventId, params, cursors.get(sessionId) ?? 0);
    cursors.set(sessionId, eventId);
  };
  const permit = async (id) => {
    await pause(chance.between(0, 100));
    const optionId = chance.happens(0.8) ? "allow_once" : "reject_once";
    write({ id, result: { outcome: { outcome: "selected", optionId } } });
  };
  createInterface({ input: child.stdout }).on("line", (line) => {
    const frame = JSON.parse(line);
    if (frame.method === "session/update") updated(frame.params);
    else if (frame.method === "session/request_permission") permit(frame.id);
    else if (frame.method === undefined && waiting.has(frame.id)) {
      const { resolve, reject, method } = waiting.get(frame.id);
      waiting.delete(frame.id);
      if (frame.error) reject(new Error(`${method}: ${JSON.stringify(frame.error)}`));
      else resolve(frame.result);
    }
  });

  async function open({ cwd, model }) {
    const { sessionId } = await ask("session/new", { cwd, mcpServers: [] });
    ledger.entry(sessionId);
    cursors.set(sessionId, 0);
    await ask("session/set_model", { sessionId, modelId: model });
    return sessionId;
  }

  /** One prompt to its answer, which may be that the model failed. Cancelled by chance, or when nothing more is said. */
  async function turn(sessionId) {
    const began = Date.now();
    heard.set(sessionId, began);
    const cancel = () => {
      counts.cancels++;
      heard.set(sessionId, Date.now());
      notify("session/cancel", { sessionId });
    };
    const watch = setInterval(() => {
      if (Date.now() - heard.get(sessionId) > SILENCE_MS) cancel();
      if (Date.now() - began < TURN_LIMIT_MS) return;
      ledger.fault(sessionId, "a prompt is not answered");
      clearInterval(watch);
    }, 250);
    const early = chance.happens(0.15) && setTimeout(cancel, chance.between(0, 800));
    try {
      await ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "go on" }] });
    } catch (error) {
      if (!error.message.includes("the script says that the provider failed")) throw error;
    } finally {
      clearInterval(watch);
      clearTimeout(early);
    }
  }

  /** Every update after the last one seen, as a client that comes back asks for them. */
  const catchUp = (sessionId) =>
    ask("_chimera.dev/session/replay", { sessionId, sinceEventId: cursors.get(sessionId) ?? 0 });

  const undo = (sessionId) => {
    counts.undos++;
    return ask("_chimera.dev/session/undo", { sessionId, force: true });
  };
  const close = (sessionId) => ask("session/close", { sessionId });

  await ask("initialize", { protocolVersion: 1, clientInfo: { name: "soak", version: "1" } });
  return { ask, open, turn, catchUp, undo, close };
}

/** The program ended before it answered, which is what a kill is for. */
export class Gone extends Error {
  constructor(method) {
    super(`${method}: the program has gone`);
    this.name = "Gone";
  }
}
