/** Models that repeat themselves: the same calls with the same results step after step, or words that were said before. */
import { createHash } from "node:crypto";
import { AgentError } from "../errors.js";

export type Repeats = ReturnType<typeof createRepeats>;

/** Said to the model from this many times on. */
const NOTED = 3;
/** The turn ends at this many. */
const STOPPED = 6;
/** Calls that come back after more steps than this do not count as a circle. */
const LONGEST_CIRCLE = 3;

/** Notices a model that goes in circles: the same calls with the same results, step after step, with nothing new between them. */
export function createRepeats() {
  const seen = new Map<string, { times: number; step: number; result: string }>();
  let step = 0;
  /** Steps in a row in which nothing was new. */
  let circling = 0;
  let ofStep: { name: string; times: number }[] = [];
  return {
    /** A call of the present step has its result; returns a word to the model where it is going in circles. */
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
    /** The step is over. Throws `stuck` where it has been the same long enough. */
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
 * A model that is asked to go on where its reply broke off often says its last words again, and some begin from the start. What was
 * shown cannot be taken back, so what is repeated is held back here. `shown` is what was said before the break.
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
    /** The next piece; returns what of it, and of what was held back, is new. */
    take(piece: string): string {
      if (settled) return piece;
      held += piece;
      if (held.length >= shown.length && held.startsWith(shown)) return settle(held.slice(shown.length));
      if (shown.startsWith(held) || lately.includes(held)) return "";
      return settle(held.slice(echoOf(shown, held)));
    },
    /** Something else follows, or nothing; returns what was held back and is new. */
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
