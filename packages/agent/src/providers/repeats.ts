/**
 * Events that say what the one before said, with another text. Nearly all of a stream are, and parsing each of them is nearly all of
 * the work: a text that stands between what its neighbours share is cut out instead.
 */
import type { TextEvent } from "./reply.js";

export interface Repeats {
  /** False once the stream has shown that it repeats nothing. */
  readonly hopeful: boolean;
  /** What an event leads to that differs from the two before it in its text alone; null where it has to be parsed. */
  find(data: string): TextEvent | null;
  /** An event that was parsed, and the one piece of text that it led to; null if it led to anything else. */
  learn(data: string, led: TextEvent | null): void;
}

/**
 * Two events in a row that differ in one place, and led to the texts that stand there, show where the text of the next one is. Any
 * other event between them begins the search anew, so that a reader never misses what would change its mind.
 */
export function createRepeats(): Repeats {
  let first: TextEvent | null = null;
  let shown = false;
  let head = "";
  let tail = "";
  let attempts = 0;

  const between = (data: string): string | null => {
    const isAlike = data.length >= head.length + tail.length && data.startsWith(head) && data.endsWith(tail);
    return isAlike ? data.slice(head.length, data.length - tail.length) : null;
  };
  const begin = (data: string, led: TextEvent | null): void => {
    const at = led && PLAIN.test(led.text) ? data.indexOf(`"${led.text}"`) : -1;
    first = at < 0 ? null : led;
    shown = false;
    if (!first) return;
    attempts++;
    head = data.slice(0, at + 1);
    tail = data.slice(at + 1 + first.text.length);
  };

  return {
    get hopeful() {
      return attempts <= MOST_ATTEMPTS;
    },
    find(data) {
      const text = shown ? between(data) : null;
      return first && text !== null && PLAIN.test(text) ? { type: first.type, text } : null;
    },
    learn(data, led) {
      const text = first && led?.type === first.type ? between(data) : null;
      if (text === null || decoded(text) !== led?.text) begin(data, led);
      // The same text again would show nothing: it may stand in two places.
      else if (led.text !== first?.text) {
        shown = true;
        attempts = 0;
      }
    },
  };
}

// --- internal ---

/** Streams that number their events, or pad them, repeat nothing: they are left alone after so many. */
const MOST_ATTEMPTS = 16;

/** A text that JSON writes as it is. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what JSON does not write as they are.
const PLAIN = /^[^"\\\u0000-\u001f]+$/;

function decoded(text: string): string | null {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return null;
  }
}
