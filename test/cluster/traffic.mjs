// People who prompt sessions over any server that is up, and readers that follow them, with a note of everything that was acknowledged.
import { createClient } from "@chimera/client";
import { pause } from "../soak/chance.mjs";

/** Stands for the address of any server. */
const ANY = "http://any";

export async function startTraffic({ nodes, chance, counts, problems, sessions: count, readers, restMs, answerMs }) {
  let isOver = false;
  /** A client whose every request goes to a server that is up, and says so first. */
  const clientOf = (onAddress, options) =>
    createClient({
      url: ANY,
      ...options,
      fetch(input, init) {
        const { address } = nodes.any();
        onAddress(address);
        return fetch(input.replace(ANY, address), init);
      },
    });

  const opening = clientOf(() => {}, { timeoutMs: answerMs });
  async function openSession() {
    for (;;) {
      const session = await opening.sessions.create().catch(() => null);
      if (session) return { id: session.id, sent: new Map(), readers: [] };
      await pause(100);
    }
  }

  /**
   * Sends a prompt with a unique text, and returns its result. The client would add an idempotency key, by which nodes find out the result of
   * a prompt whose server died. This one has none.
   */
  async function prompt(id, text) {
    try {
      const response = await fetch(`${nodes.any().address}/sessions/${id}/turns`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ prompt: text }),
        signal: AbortSignal.timeout(answerMs),
      });
      const { error } = await response.json();
      if (response.status === 202) return "acknowledged";
      if (error === "outcome_unknown") return "unknown";
      counts.refusals[error] = (counts.refusals[error] ?? 0) + 1;
      return "refused";
    } catch {
      // The connection broke with its server: it may have been taken.
      return "unknown";
    }
  }
  async function live({ id, sent }) {
    while (!isOver) {
      await pause(chance.between(restMs / 8, restMs));
      const text = `prompt ${++counts.prompts}`;
      const outcome = await prompt(id, text);
      counts[outcome] += 1;
      sent.set(text, outcome);
    }
  }

  /** Follows a session over any server that is up, from the last record it has. The client says when a record is missing. */
  async function follow(session) {
    const reader = { seen: 0, at: null, stop: new AbortController() };
    session.readers.push(reader);
    const onRetry = () => {
      counts.reconnects += 1;
    };
    const client = clientOf(
      (address) => {
        reader.at = address;
      },
      { onRetry },
    );
    const { signal } = reader.stop;
    const onLoss = ({ missing }) =>
      problems.push(`${session.id}: a reader was sent a notice that record ${missing.first} is lost`);
    try {
      // Each stream ends with a turn, and the next one begins where it ended.
      for (; !signal.aborted; onRetry())
        for await (const { seq } of client.sessions.open(session.id).follow({ from: reader.seen, signal, onLoss })) {
          reader.seen = seq;
          counts.delivered += 1;
        }
    } catch (error) {
      if (!signal.aborted) problems.push(`${session.id}: a reader at ${reader.at} ended with ${error}`);
    }
  }

  const sessions = await Promise.all(Array.from({ length: count }, openSession));
  const living = sessions.map(live);
  const following = Array.from({ length: readers }, (_, i) => follow(sessions[i % count]));
  return {
    sessions,
    /** No more prompts; resolves when the last one has its answer. */
    async rest() {
      isOver = true;
      await Promise.all(living);
    },
    async stop() {
      for (const session of sessions) for (const reader of session.readers) reader.stop.abort();
      await Promise.all(following);
    },
  };
}
