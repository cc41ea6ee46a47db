// The server that lives through the whole run, on all transports at once, and is measured at rest.
import { connectEditor } from "./acp-client.mjs";
import { pause } from "./chance.mjs";
import { descriptorsOf } from "./footprint.mjs";
import { createHttpClient } from "./http-client.mjs";
import { addressOf } from "./program.mjs";

export async function startSteadyServer({ programs, ...shared }) {
  const program = programs.start(["serve", "--acp", "--http", "--port", "0"], { gauge: true });
  const own = await connectEditor({ program, cursors: new Map(), ...shared });
  const address = await addressOf(program);
  const http = createHttpClient({ address: async () => address, ...shared });
  const link = programs.start(["acp", "--connect", address]);
  const remote = await connectEditor({ program: link, cursors: new Map(), ...shared });

  /** A session of the editor that started the server, or of one that came over the network. Some are watched over HTTP. */
  async function liveInEditor(chance, surroundings, where) {
    const editor = where === "remote" ? remote : own;
    const sessionId = await editor.open(surroundings);
    const turns = chance.between(1, 3);
    let ended = 0;
    const watching = chance.happens(0.3) && watch(sessionId, () => ended === turns);
    for (; ended < turns; ended++) {
      await editor.turn(sessionId);
      if (chance.happens(0.1)) await editor.undo(sessionId);
    }
    await watching;
    // A session that is open over the network has a stream of its own, which is the editor's to close.
    if (where === "remote" || chance.happens(0.5)) await editor.close(sessionId);
  }
  /** Reads along until the editor is done, coming back whenever a turn has ended the stream. */
  async function watch(sessionId, isDone) {
    let last = 0;
    while (!isDone()) {
      const look = ({ seq }) => {
        last = seq;
      };
      const left = new AbortController();
      const reading = http.read(sessionId, last, look, left.signal).catch((error) => {
        if (!left.signal.aborted) throw error;
      });
      await Promise.race([reading, until(isDone)]);
      left.abort();
    }
  }

  /**
   * What it holds when nobody has wanted anything for longer than it keeps sessions in memory, and connections that ask for nothing: a
   * browser opens one ahead, which the server ends after ten seconds.
   */
  async function atRest() {
    await pause(14_000);
    // By now the server is closing the connections that were kept.
    http.hangUp();
    // Idle sessions are unloaded when the next request comes.
    await http.ask("GET", "/sessions?limit=1");
    await pause(500);
    http.hangUp();
    await pause(500);
    const memory = await programs.gauge(program);
    return { ...memory, descriptors: descriptorsOf(program.child.pid) };
  }

  return {
    address,
    http,
    liveInEditor,
    atRest,
    async end() {
      await programs.end(link, "input");
      await programs.end(program, "input");
    },
  };
}

// --- internal ---

async function until(isDone) {
  while (!isDone()) await pause(50);
}
