/** Detects models that repeat themselves: the same calls with the same results in step after step, or text from before a break. */
import { createHash } from "node:crypto";
import { AgentError } from "../errors.js";

export type Repeats = ReturnType<typeof createRepeats>;

/** From this many repetitions on, the result carries a note to the model. */
const NOTED = 3;
/** At this many repetitions the turn ends. */
const STOPPED = 6;
/** Calls that recur after more steps than this do not count as repetition. */
const LONGEST_CIRCLE = 3;

/** Detects the same calls with the same results in step after step, with nothing new between them. */
export function createRepeats() {
  const seen = new Map<string, { times: number; step: number; result: string }>();
  let step = 0;
  /** Number of steps in a row without anything new. */
  let circling = 0;
  let ofStep: { name: string; times: number }[] = [];
  return {
    /** Counts a call of the current step and its result. Returns a note to the model if it repeats itself, otherwise "". */
    note({ name, args }: { readonly name: string; readonly args: object }, output: string): string {
      const key = digest(`${name}\n${JSON.stringify(args)}`);
      const result = digest(output);
      const last = seen.get(key);
      const again = last !== undefined && last.result === result && step - last.step <= LONGEST_CIRCLE;
      const times = again ? last.times + (last.step === step ? 0 : 1) : 1;
      seen.set(key, { times, step, result });
      ofStep.push({ name, times });
      if (times < NOTED || circling === 0) return "";
      return `\n\n[This same call was made ${times} times in a row, with this same result each time. Calling it again will not change it: try something else, or say what is in the way. At ${STOPPED} times the turn is stopped.]`;
    },
    /** Ends the step. Throws `stuck` when the model has repeated itself too often. */
    endStep(): void {
      const least = Math.min(...ofStep.map(({ times }) => times));
      circling = ofStep.length > 0 && least > 1 ? circling + 1 : 0;
      const name = ofStep[0]?.name;
      ofStep = [];
      step++;
      if (name === undefined || least < STOPPED || circling < STOPPED - 1) return;
      throw new AgentError("stuck", `the model called ${name} ${least} times in a row with the same result each time`);
    },
  };
}

/**
 * Removes repeated text from a continued reply. A model that continues a broken reply often repeats its last words, and some start
 * again from the beginning. Clients have already shown `shown`, the text before the break, so it must not come twice.
 */
export function createRepeatedText(shown: string) {
  const lately = shown.slice(-LONGEST_ECHO);
  let held = "";
  let settled = shown === "";
  const settle = (text: string): string => {
    settled = true;
    held = "";
    return text;
  };
  return {
    /** Takes the next piece. Returns the new text in it and in the pieces held back so far. */
    take(piece: string): string {
      if (settled) return piece;
      held += piece;
      if (held.length >= shown.length && held.startsWith(shown)) return settle(held.slice(shown.length));
      if (shown.startsWith(held) || lately.includes(held)) return "";
      return settle(held.slice(echoOf(shown, held)));
    },
    /** The text is complete. Returns the new text in the pieces held back. */
    end(): string {
      if (settled || held === "") return "";
      const whole = shown.startsWith(held) && held.length >= SHORTEST_ECHO;
      return settle(whole ? "" : held.slice(echoOf(shown, held)));
    },
  };
}

// --- internal ---

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

/** Shorter repetitions may be chance. */
const SHORTEST_ECHO = 12;
/** How many of the last characters are searched for at the start of the continuation. */
const LONGEST_ECHO = 400;

/** How many characters at the start of `next` repeat the end of `shown`. */
function echoOf(shown: string, next: string): number {
  for (let length = Math.min(shown.length, next.length, LONGEST_ECHO); length >= SHORTEST_ECHO; length--) {
    if (shown.endsWith(next.slice(0, length))) return length;
  }
  return 0;
}
