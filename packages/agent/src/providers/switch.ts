/** A model that moves to another endpoint for good, once the first one says that it must be asked there. */
import { isAgentError } from "../errors.js";
import { beginAgain } from "./begin-again.js";
import type { Model } from "./model.js";

/** `first` answers until it refuses a request in words that match; `other` is opened then, and answers from there on. */
export function createSwitch(first: Model, when: RegExp, other: () => Promise<Model>): Model {
  let moved: Promise<Model> | null = null;
  return {
    ...first,
    stream(request) {
      let asked = first;
      const ask = async () => {
        asked = (await moved) ?? first;
        return asked.stream(request);
      };
      return beginAgain(ask, (error) => {
        if (asked !== first || !isAgentError(error) || error.retryable || !when.test(error.message)) return false;
        // Another request may have moved it meanwhile.
        moved ??= other().catch((failure: unknown) => {
          moved = null;
          throw failure;
        });
        return true;
      });
    },
  };
}
