// A simulated person who works with a few sessions over both servers and the command line, and notes what was acknowledged.
import { mkdirSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { connectEditor, Gone } from "../soak/acp-client.mjs";
import { pause } from "../soak/chance.mjs";
import { followingClient } from "../soak/http-client.mjs";
import { createLedger } from "../soak/ledger.mjs";

/** A frozen server answers nothing for a while; the caller does not know the result of its request. */
const PATIENCE_MS = 4000;
/** Far longer than a freeze: a request that takes this long hangs. */
const STUCK_MS = 90_000;

export function createPerson({ urls, token, ledger, facts, chance, counts, programs, root, isOver }) {
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${token}` };
  const word = () => newWord(facts, chance);

  const client = followingClient(async () => chance.pick(urls), token);
  function send(method, path, body) {
    const json = body === undefined ? undefined : JSON.stringify(body);
    const extra = json && { "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      const asked = request(chance.pick(urls) + path, { method, agent, headers: { ...headers, ...extra } }, resolve);
      asked.on("error", reject).setTimeout(PATIENCE_MS, () => asked.destroy(new Error("no answer")));
      asked.end(json);
    });
  }
  /** Status 0 when the result is unknown. */
  async function ask(method, path, body) {
    counts.requests++;
    try {
      const response = await send(method, path, body);
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      const answer = { status: response.statusCode, body: text.startsWith("{") ? JSON.parse(text) : {} };
      if (answer.status === 500) ledger.fault(path, `${method}: 500 ${text}`);
      counts[answer.status] = (counts[answer.status] ?? 0) + 1;
      return answer;
    } catch {
      counts.unanswered++;
      return { status: 0, body: {} };
    }
  }

  /** What a prompt asks for: a file with a word in it, by a tool or by a command. */
  function writing(fact) {
    const name = word();
    fact.words.add(name);
    return chance.happens(0.6) ? `write ${name}.txt: ${name}` : `run \`printf ${name} > ${name}.txt\``;
  }
  async function create() {
    const cwd = join(root, "work", word());
    mkdirSync(cwd, { recursive: true });
    const fact = newFact(cwd);
    const prompt = writing(fact);
    const { status, body } = await ask("POST", "/sessions", { prompt, cwd, model: "offline" });
    if (status !== 201) return null;
    facts.sessions.set(body.session_id, fact);
    fact.prompts.push({ turn: 0, text: prompt });
    return body.session_id;
  }

  const acts = {
    async prompt(id, fact, text = writing(fact)) {
      const { status, body } = await ask("POST", `/sessions/${id}/turns`, { prompt: text });
      if (status === 202) fact.prompts.push({ turn: Number(body.message_id.slice(4)), text });
    },
    mode: (id, fact) => acts.prompt(id, fact, `/mode ${chance.pick(["auto", "review"])}`),
    async title(id, fact) {
      const title = word();
      const { status } = await ask("POST", `/sessions/${id}/title`, { title });
      if (status === 200) fact.titles.push(title);
    },
    async undo(id, fact) {
      const { status, body } = await ask("POST", `/sessions/${id}/${chance.pick(["undo", "undo", "redo"])}`, {});
      if (status === 200 && body.turns > 0) fact.undos++;
    },
    async fork(id, fact) {
      const { status, body } = await ask("POST", `/sessions/${id}/fork`, {});
      if (status !== 201) return;
      fact.forks.push(body.session_id);
      facts.sessions.set(body.session_id, newFact(fact.cwd));
    },
    async remove(id, fact) {
      if (fact.deleted === "no") fact.deleted = "maybe";
      const { status } = await ask("DELETE", `/sessions/${id}`);
      if (status === 204) fact.deleted = "yes";
    },
    cancel: (id) => ask("POST", `/sessions/${id}/cancel`),
    async rename(id, fact) {
      const title = word();
      counts.commands++;
      const { code, said } = await programs.run(["sessions", "rename", id, title]);
      if (code === 0) fact.titles.push(title);
      else if (code === null || /internal|at file:/.test(said)) ledger.fault(id, `rename: ${code} ${said}`);
    },
    async resume(id, fact) {
      const text = writing(fact);
      counts.commands++;
      const { code, said } = await programs.run(["-p", text, "--resume", id, "--mode", "auto"], fact);
      if (code === 0) fact.prompts.push({ turn: null, text });
      else if (code === null || /at file:/.test(said)) ledger.fault(id, `resume: ${code} ${said}`);
    },
    /** Reads on from what was seen, and answers what is asked. */
    async read(id, fact) {
      const seen = ledger.entry(id).records;
      let cursor = Math.max(0, ...seen.keys());
      const signal = AbortSignal.timeout(chance.between(200, 2500));
      try {
        for await (const record of client.sessions.open(id).follow({ from: cursor, signal })) {
          ledger.record(id, record.seq, JSON.stringify(record), cursor);
          cursor = record.seq;
          if (record.type === "permission_request") void answer(id, fact, record.metadata.permission_id);
        }
      } catch {
        counts.broken++;
      }
    },
  };
  async function answer(id, fact, permission) {
    const decision = chance.pick(["allow", "deny"]);
    const { status } = await ask("POST", `/sessions/${id}/permissions/${permission}`, { decision });
    if (status === 200) fact.answers.push({ permission, decision });
  }

  const weights = {
    prompt: 8,
    mode: 2,
    title: 2,
    undo: 3,
    fork: 1,
    remove: 0.3,
    cancel: 1,
    rename: 0.4,
    resume: 0.4,
    read: 6,
  };
  const bag = Object.entries(weights).flatMap(([name, weight]) => Array(weight * 10).fill(name));

  return async function live() {
    const own = [];
    while (!isOver()) {
      if (own.length < 3 || chance.happens(0.02)) {
        const id = await create();
        if (id !== null) own.push(id);
        else await pause(200);
        continue;
      }
      const id = chance.pick(chance.happens(0.8) ? own : [...facts.sessions.keys()]);
      const fact = facts.sessions.get(id);
      if (fact.deleted !== "no") {
        if (own.includes(id)) own.splice(own.indexOf(id), 1);
        continue;
      }
      const act = chance.pick(bag);
      counts[act] = (counts[act] ?? 0) + 1;
      const stuck = setTimeout(() => ledger.fault(id, `${act} does not end`), STUCK_MS);
      await acts[act](id, fact);
      clearTimeout(stuck);
      await pause(chance.between(0, 150));
    }
    agent.destroy();
  };
}

/** An editor that sets models in sessions of its own child, which is killed whenever it likes. */
export async function liveInEditor({ ledger, facts, chance, counts, programs, root, isOver }) {
  while (!isOver()) {
    const program = programs.start(["acp"]);
    const killed = pause(chance.between(800, 5000)).then(() => programs.end(program, "kill"));
    try {
      const editor = await connectEditor({ program, ledger: createLedger(), chance, counts, cursors: new Map() });
      const cwd = join(root, "work", newWord(facts, chance));
      mkdirSync(cwd, { recursive: true });
      const { sessionId } = await editor.ask("session/new", { cwd, mcpServers: [] });
      const fact = newFact(cwd);
      facts.sessions.set(sessionId, fact);
      for (;;) {
        const modelId = `ollama/${newWord(facts, chance)}`;
        await editor.ask("session/set_model", { sessionId, modelId });
        fact.settings.push(modelId);
        await pause(chance.between(0, 200));
      }
    } catch (error) {
      if (!(error instanceof Gone)) ledger.fault("editor", error.stack);
    }
    await killed;
  }
}

// --- internal ---

/** A unique word. */
function newWord(facts, chance) {
  return `w${(++facts.words).toString(36)}x${chance.between(0, 2 ** 30).toString(36)}`;
}

/** What was acknowledged of a session, so far nothing. */
function newFact(cwd) {
  const none = { prompts: [], titles: [], answers: [], settings: [], forks: [] };
  return { cwd, words: new Set(), ...none, undos: 0, deleted: "no" };
}
