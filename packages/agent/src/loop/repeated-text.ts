/**
 * A model that is asked to go on where its reply broke off often says its last words again, and some begin from the start. What was
 * shown cannot be taken back, so what is repeated is held back here.
 */
export interface RepeatedText {
  /** The next piece; returns what of it, and of what was held back, is new. */
  take(piece: string): string;
  /** Something else follows, or nothing; returns what was held back and is new. */
  end(): string;
}

/** `shown` is what was said before the break. */
export function createRepeatedText(shown: string): RepeatedText {
  const lately = shown.slice(-LONGEST_ECHO);
  let held = "";
  let settled = shown === "";
  const settle = (text: string): string => {
    settled = true;
    held = "";
    return text;
  };
  return {
    take(piece) {
      if (settled) return piece;
      held += piece;
      if (held.length >= shown.length && held.startsWith(shown)) return settle(held.slice(shown.length));
      if (shown.startsWith(held) || lately.includes(held)) return "";
      return settle(held.slice(echoOf(shown, held)));
    },
    end() {
      if (settled || held === "") return "";
      const whole = shown.startsWith(held) && held.length >= SHORTEST_ECHO;
      return settle(whole ? "" : held.slice(echoOf(shown, held)));
    },
  };
}

// --- internal ---

/** Fewer characters than this may be there twice by chance. */
const SHORTEST_ECHO = 12;
/** How much of the end is looked for at the beginning of what follows. */
const LONGEST_ECHO = 400;

/** How many characters at the beginning of `next` are the end of `shown` once more. */
function echoOf(shown: string, next: string): number {
  for (let length = Math.min(shown.length, next.length, LONGEST_ECHO); length >= SHORTEST_ECHO; length--) {
    if (shown.endsWith(next.slice(0, length))) return length;
  }
  return 0;
}
