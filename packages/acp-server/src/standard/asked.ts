/** Requests to the client that a record puts and another one settles: each is sent once, and withdrawn when it is settled elsewhere. */

/** `request` resolves with the client's answer; with undefined where it leaves the answer to others. `deliver` hands it to the session. */
export function createAsked<Q, A>(options: {
  readonly id: (question: Q) => string;
  readonly request: (question: Q, signal: AbortSignal) => Promise<A | undefined>;
  readonly deliver: (id: string, answer: A) => Promise<void> | undefined;
}) {
  const asked = new Map<string, AbortController>();
  const send = async (id: string, question: Q): Promise<void> => {
    const abort = new AbortController();
    asked.set(id, abort);
    const answer = await options.request(question, abort.signal);
    asked.delete(id);
    // Somebody may have answered in the meantime; the first answer counts.
    if (answer !== undefined) await options.deliver(id, answer)?.catch(() => {});
  };
  return {
    /** A record that passes again asks nothing again. */
    ask(question: Q) {
      const id = options.id(question);
      if (!asked.has(id)) void send(id, question);
    },
    /** Takes the question back: somebody else answered, or the turn ended. */
    withdraw(id: string) {
      asked.get(id)?.abort();
      asked.delete(id);
    },
    close() {
      for (const abort of asked.values()) abort.abort();
      asked.clear();
    },
  };
}
