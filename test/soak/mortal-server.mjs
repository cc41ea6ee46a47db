// The server that is killed every few seconds, and comes back on the same data.
import { pause } from "./chance.mjs";
import { addressOf } from "./program.mjs";

/** How long it lives, in milliseconds, and how it is ended. */
const LIFE_MS = [3000, 15_000];
const ENDS = ["kill", "kill", "signal"];

export function startMortalServer({ programs, chance, counts }) {
  let address = deferred();
  let isWanted = true;
  let stop = () => {};
  const stopped = new Promise((resolve) => {
    stop = resolve;
  });

  const lives = (async () => {
    while (isWanted) {
      const program = programs.start(["serve", "--port", "0"]);
      address.resolve(await addressOf(program));
      await Promise.race([pause(chance.between(...LIFE_MS)), stopped]);
      address = deferred();
      await programs.end(program, isWanted ? chance.pick(ENDS) : "signal");
      counts.restarts++;
    }
  })();
  return {
    /** Where it is; waits while it is down. */
    address: () => address.promise,
    async end() {
      isWanted = false;
      stop();
      await lives;
    },
  };
}

// --- internal ---

function deferred() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
