/** How long people were asked: the clock of a turn, and that of a call, stands still meanwhile. */
export function createWaits() {
  const asked = new Map<string, { readonly callId: string; readonly at: number }>();
  let totalMs = 0;
  return {
    /** Of the turn so far. */
    get totalMs() {
      return totalMs;
    },
    begin: (id: string, callId: string, ts: string): void => void asked.set(id, { callId, at: Date.parse(ts) }),
    /** Gives the call that was asked about, and for how long; null where nothing was. */
    end(id: string, ts: string): { readonly callId: string; readonly ms: number } | null {
      const question = asked.get(id);
      if (!question) return null;
      asked.delete(id);
      const ms = Math.max(0, Date.parse(ts) - question.at);
      // Of several questions at once, the last one's answer ends the waiting.
      if (asked.size === 0) totalMs += ms;
      return { callId: question.callId, ms };
    },
    reset() {
      asked.clear();
      totalMs = 0;
    },
  };
}
