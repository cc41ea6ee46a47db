// A person with a browser and a bad connection: sessions over HTTP, followed through cuts and restarts.
import { Agent, request } from "node:http";
import { createClient } from "@chimera/client";
import { pause } from "./chance.mjs";

const ENDS = new Set(["agent_result", "cancelled"]);
/** A turn that takes longer than this hangs. */
const TURN_LIMIT_MS = 60_000;
/** A turn that says nothing for so long waits for a cancel. */
const SILENCE_MS = 1500;

/** `address()` waits for the server when it is down, and says where it is. */
export function createHttpClient({ address, token, ledger, chance, counts }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const authorization = `Bearer ${token}`;

  async function send(method, path, body) {
    const url = `${await address()}${path}`;
    return new Promise((resolve, reject) => {
      const json = body === undefined ? undefined : JSON.stringify(body);
      const type = json === undefined ? {} : { "content-type": "application/json" };
      const outgoing = request(url, { method, agent, headers: { authorization, ...type } }, resolve);
      outgoing.on("error", reject);
      outgoing.setTimeout(30_000, () => outgoing.destroy(new Error(`${method} ${path}: nothing for 30 s`)));
      outgoing.end(json);
    });
  }
  async function ask(method, path, body) {
    const response = await send(method, path, body);
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    return { status: response.statusCode, body: text.startsWith("{") ? JSON.parse(text) : text };
  }
  /** Asks until a server answers: it may be down, on its way there, or be killed in the middle. */
  async function insist(method, path, body) {
    for (let tries = 0; ; tries++) {
      try {
        const answer = await ask(method, path, body);
        if (answer.status !== 503) return answer;
      } catch (error) {
        if (tries > 200) throw error;
      }
      await pause(100);
    }
  }

  const client = followingClient(address, token);
  /** Reads records after `cursor` until `look` says stop or the stream ends, over lost connections and restarts. */
  async function read(id, cursor, look, signal = AbortSignal.timeout(TURN_LIMIT_MS)) {
    let last = cursor;
    for await (const record of client.sessions.open(id).follow({ from: cursor, signal })) {
      ledger.record(id, record.seq, JSON.stringify(record), last);
      last = record.seq;
      if (look(record) === "stop") return;
    }
  }

  /** Follows a session to the end of a turn, leaving and coming back on the way; answers what is asked. */
  async function follow(id, turn, cursor, patience) {
    const deadline = Date.now() + TURN_LIMIT_MS;
    const troubled = (error) => ledger.fault(id, error.message);
    let over = false;
    let last = cursor;
    let heard = Date.now();
    const cancel = () => {
      counts.cancels++;
      heard = Date.now();
      insist("POST", `/sessions/${id}/cancel`).catch(troubled);
    };
    const watch = setInterval(() => Date.now() - heard > SILENCE_MS && cancel(), 250);
    if (chance.happens(0.15)) setTimeout(() => over || cancel(), chance.between(0, 800));
    const act = ({ type, turn: of, metadata }) => {
      heard = Date.now();
      if (of !== turn) return;
      if (ENDS.has(type)) over = true;
      if (type !== "permission_request") return;
      const decision = chance.happens(0.8) ? "allow" : "deny";
      const answer = () => insist("POST", `/sessions/${id}/permissions/${metadata.permission_id}`, { decision });
      pause(chance.between(0, 100)).then(answer).catch(troubled);
    };
    while (!over && Date.now() < deadline) {
      let left = chance.happens(patience) ? Number.POSITIVE_INFINITY : chance.between(1, 25);
      try {
        await read(id, last, (record) => {
          last = record.seq;
          act(record);
          if (over) return "stop";
          if (--left > 0) return "on";
          counts.disconnects++;
          return "stop";
        });
      } catch (error) {
        // Down, or on its way down. Anything else shows as a turn that does not end.
        counts.retries++;
        counts.lastRetry = error.message;
        await pause(chance.between(50, 200));
      }
    }
    clearInterval(watch);
    if (!over) ledger.fault(id, `turn ${turn} does not end; last record ${last}; ${counts.lastRetry}`);
    return last;
  }

  /** The life of one session: a few turns, taken back now and then, sometimes forked, sometimes deleted. */
  async function live({ cwd, model, engine }) {
    const runBy = engine ? { engine } : { model };
    const created = await insist("POST", "/sessions", { prompt: "begin", ...runBy, cwd });
    if (created.status !== 201) throw new Error(`POST /sessions: ${created.status} ${JSON.stringify(created.body)}`);
    const id = created.body.session_id;
    ledger.entry(id);
    const patience = chance.pick([0, 0.5, 1]);
    let cursor = await follow(id, 0, 0, patience);
    for (let turns = chance.between(0, 3); turns > 0; turns--) {
      const { status, body } = await insist("POST", `/sessions/${id}/turns`, { prompt: "go on" });
      if (status !== 202) throw new Error(`POST turns: ${status} ${JSON.stringify(body)}`);
      cursor = await follow(id, Number(body.message_id.slice("msg-".length)), cursor, patience);
      if (chance.happens(0.1)) await rewind(id);
    }
    if (chance.happens(0.05)) await fork(id);
    if (chance.happens(0.05)) await remove(id);
  }

  async function rewind(id) {
    counts.undos++;
    const { status, body } = await insist("POST", `/sessions/${id}/undo`, { force: true });
    if (status >= 500) ledger.fault(id, `undo: ${status} ${JSON.stringify(body)}`);
  }
  async function fork(id) {
    const { status, body } = await insist("POST", `/sessions/${id}/fork`, {});
    if (status >= 500) return ledger.fault(id, `fork: ${status} ${JSON.stringify(body)}`);
    if (status === 201) ledger.entry(body.session_id);
    counts.forks++;
  }
  async function remove(id) {
    const { status } = await insist("DELETE", `/sessions/${id}`);
    // 404: the answer to the first try was lost with the server.
    if (status !== 204 && status !== 404) ledger.fault(id, `delete: ${status}`);
    ledger.entry(id).deleted = true;
    counts.deletes++;
  }

  /** The first `count` records of a session. */
  async function records(id, count) {
    const found = [];
    if (count === 0) return found;
    const signal = AbortSignal.timeout(TURN_LIMIT_MS);
    for await (const record of client.sessions.open(id).follow({ signal })) {
      found.push({ seq: record.seq, line: JSON.stringify(record) });
      if (found.length === count) break;
    }
    return found;
  }

  return { ask, live, read, records, hangUp: () => agent.destroy() };
}

/** A client of a server that may be elsewhere after a restart: `address()` says where it is now. */
export function followingClient(address, token) {
  const here = "http://server.invalid";
  const found = async (url, init) => fetch(String(url).replace(here, await address()), init);
  return createClient({ url: here, token, fetch: found });
}
