// What is known of one session: its updates by number, its unanswered questions, and who is watching. The program keeps the log;
// this is only what a screen needs, so it is bounded, and the program fills it again after a restart.
import { randomBytes } from "node:crypto";

const MAX_ENTRIES = 20_000;

/** @param {string} id @param {string} key anybody who has it may watch and speak; it is part of the page's address */
export function createBoard(id, key) {
  const entries = [];
  const questions = new Map();
  const watchers = new Set();
  let facts = {};
  let program = null;
  let running = 0;
  let cursor = 0;
  let touched = Date.now();

  const tell = (message) => {
    for (const watcher of watchers) watcher(message);
  };
  const state = () => ({ type: "state", id, ...facts, attached: program !== null, running: running > 0 });

  return {
    id,
    key,
    /** The number of the last record that was seen. */
    get cursor() {
      return cursor;
    },
    get idleMs() {
      return program || watchers.size > 0 ? 0 : Date.now() - touched;
    },
    learn(news) {
      touched = Date.now();
      facts = { ...facts, ...news };
      tell(state());
    },
    add(update, { eventId, origin }) {
      cursor = Math.max(cursor, eventId);
      const entry = { eventId, update, ...(origin && { origin }) };
      entries.push(entry);
      if (entries.length > MAX_ENTRIES) entries.shift();
      tell({ type: "entry", entry });
    },
    /** Shows a question until it is answered or taken back; resolves with the chosen option, or null. */
    ask(params, signal) {
      const { toolCall, options, _meta: { "chimera.dev/risk": risk } = {} } = params;
      const question = { id: randomBytes(6).toString("hex"), toolCall, options, risk };
      return new Promise((resolve) => {
        const settle = (optionId) => {
          if (!questions.delete(question.id)) return;
          tell({ type: "settled", id: question.id });
          resolve(optionId);
        };
        questions.set(question.id, { question, settle });
        signal.addEventListener("abort", () => settle(null));
        tell({ type: "question", question });
      });
    },
    answer(questionId, optionId) {
      const open = questions.get(questionId);
      if (open?.question.options.some((option) => option.optionId === optionId)) open.settle(optionId);
    },
    attach(connection) {
      program = connection;
      tell(state());
    },
    detach(connection) {
      if (program !== connection) return;
      program = null;
      touched = Date.now();
      tell(state());
    },
    async prompt(text) {
      if (!program) throw new Error("the program is not connected");
      running++;
      tell(state());
      try {
        await program.request("session/prompt", { sessionId: id, prompt: [{ type: "text", text }] });
      } finally {
        running--;
        tell(state());
      }
    },
    cancel() {
      program?.notify("session/cancel", { sessionId: id });
    },
    /** Tells `watcher` everything after `since`, then what comes; returns how to stop. */
    watch(watcher, since) {
      // A program that fills a new board begins at its first record; a page that was there before wants the rest only.
      const told = (message) => {
        if (message.type !== "entry" || message.entry.eventId > since) watcher(message);
      };
      told(state());
      for (const entry of entries) told({ type: "entry", entry });
      for (const { question } of questions.values()) told({ type: "question", question });
      watchers.add(told);
      return () => {
        watchers.delete(told);
        touched = Date.now();
      };
    },
    end() {
      tell({ type: "ended" });
      program?.close();
    },
  };
}
