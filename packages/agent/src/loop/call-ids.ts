/** The ids of calls: new to the conversation, and such as every provider accepts. */
import type { ModelMessage } from "../providers/model.js";

export interface CallIds {
  /** An id that is new to the conversation, like the wanted one if it can be. */
  take(wanted: string): string;
  /** The calls were dropped before anybody saw them: their ids may come again. */
  release(calls: readonly { readonly id: string }[]): void;
}

/**
 * Gives each call an id that is new to the conversation and that every provider accepts, whatever the model sent: some
 * servers send none, or the same one each time.
 */
export function createCallIds(messages: readonly ModelMessage[], turn: number): CallIds {
  const used = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.id] : [])));
  return {
    take(wanted) {
      let id = /^[A-Za-z0-9_-]{1,40}$/.test(wanted) ? wanted : `call-${turn}-${used.size}`;
      for (let n = used.size; used.has(id); n++) id = `call-${turn}-${n}`;
      used.add(id);
      return id;
    },
    release(calls) {
      for (const { id } of calls) used.delete(id);
    },
  };
}
