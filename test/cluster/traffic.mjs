// People who prompt sessions over any server that is up, and readers that follow them, with a note of everything that was acknowledged.
import { pause } from "../soak/chance.mjs";

export async function startTraffic({ nodes, chance, counts, problems, sessions: count, readers, restMs, answerMs }) {
  let isOver = false;
  const ask = (method, path, body) =>
    fetch(`${nodes.any().address}${path}`, {
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(answerMs),
    });

  async function openSession() {
    for (;;) {
      const response = await ask("POST", "/session", {}).catch(() => null);
      if (response?.status === 201) return { id: (await response.json()).session_id, sent: new Map(), readers: [] };
      await pause(100);
    }
  }

  /** Sends a prompt with a unique text, and returns its result. */
  async function prompt(id, text) {
    try {
      const response = await ask("POST", `/sessions/${id}/turns`, { prompt: text });
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

  /** Follows a session over any server that is up, from the last record it has. */
  async function follow(session) {
    const reader = { seen: 0, isDone: false, at: null };
    session.readers.push(reader);
    while (!reader.isDone) {
      const gone = new AbortController();
      const timer = setInterval(() => reader.isDone && gone.abort(), 100);
      try {
        reader.at = nodes.any().address;
        const response = await fetch(`${reader.at}/sessions/${session.id}/events`, {
          headers: { "last-event-id": String(reader.seen) },
          signal: gone.signal,
        });
        let rest = "";
        for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
          const blocks = (rest + chunk).split("\n\n");
          rest = blocks.pop() ?? "";
          for (const block of blocks) {
            const [, id] = /^id: (\d+)$/m.exec(block) ?? [];
            if (id === undefined) continue;
            if (Number(id) !== reader.seen + 1)
              problems.push(`${session.id}: a reader got record ${id} after ${reader.seen}`);
            reader.seen = Number(id);
            counts.delivered += 1;
          }
        }
      } catch {
        // Its server is gone, frozen or not there yet.
      }
      clearInterval(timer);
      counts.reconnects += 1;
      await pause(50);
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
      for (const session of sessions) for (const reader of session.readers) reader.isDone = true;
      await Promise.all(following);
    },
  };
}
