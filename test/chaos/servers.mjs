// Two servers on one home, each reached through a link that is cut, and killed, frozen and started again all the while.
import { connect, createServer } from "node:net";
import { pause } from "../soak/chance.mjs";
import { addressOf } from "../soak/program.mjs";

/** Longer than a heartbeat may stand still: the other server takes over. */
const LONG_FREEZE_MS = 33_000;

export async function startServer({ programs, chance, counts, isOver, longFreezes }) {
  let program = null;
  let port = null;
  const links = new Set();
  const link = createServer((near) => {
    if (port === null) return near.destroy();
    const far = connect(port, "127.0.0.1");
    links.add(near);
    const end = () => {
      links.delete(near);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on("error", end).on("close", end);
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise((resolve) => link.listen(0, "127.0.0.1", resolve));

  const cutLinks = (share) => {
    for (const socket of [...links])
      if (chance.happens(share)) {
        counts.cuts++;
        socket.destroy();
      }
  };
  const freeze = async (ms) => {
    counts.freezes++;
    program.child.kill("SIGSTOP");
    await pause(ms);
    program.child.kill("SIGCONT");
  };
  const stop = async (how) => {
    port = null;
    cutLinks(1);
    await programs.end(program, how);
    program = null;
  };
  const lives = (async () => {
    while (!isOver()) {
      program = programs.start(["serve", "--port", "0", "--mode", "auto"]);
      port = new URL(await addressOf(program)).port;
      const until = Date.now() + chance.between(2000, 12_000);
      while (Date.now() < until && !isOver()) {
        await pause(chance.between(50, 800));
        if (chance.happens(0.3)) cutLinks(0.5);
        if (chance.happens(0.05)) await freeze(chance.between(50, 2500));
        if (longFreezes.length > 0 && Date.now() > longFreezes[0]) {
          longFreezes.shift();
          await freeze(LONG_FREEZE_MS);
          await pause(1000);
        }
      }
      const how = chance.pick(["kill", "kill", "kill", "signal"]);
      await stop(how);
      counts.restarts++;
      await pause(chance.between(0, 500));
    }
    link.close();
  })();
  return { url: `http://127.0.0.1:${link.address().port}`, lives };
}
