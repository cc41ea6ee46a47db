// The faults by name, and which of them each round injects.
import { pause } from "../soak/chance.mjs";
import { until } from "./nodes.mjs";

export function createFaults({ nodes, database, chance, leaseMs, takeovers, problems }) {
  const ownedBy = (pid) =>
    database.query("SELECT s.sid FROM chimera.session s JOIN chimera.node n ON n.node = s.owner WHERE n.pid = $1", pid);

  /** From the moment a server is dead or frozen until others have all its sessions. */
  async function measureTakeover(node, at) {
    const late = measureLateness();
    const orphans = (await ownedBy(node.child.pid)).map(({ sid }) => sid);
    if (orphans.length === 0) return;
    const left = async () => (await ownedBy(node.child.pid)).filter(({ sid }) => orphans.includes(sid));
    await until("a takeover", async () => (await left()).length === 0, leaseMs + 30_000);
    const ms = Math.round(performance.now() - at);
    const lateMs = Math.round(late());
    takeovers.push(ms);
    if (ms > leaseMs + 1000 + lateMs)
      problems.push(
        `a takeover took ${ms} ms, more than the lease and a second (the machine stood still ${lateMs} ms)`,
      );
  }

  const faults = {
    async killNode() {
      const node = nodes.any();
      node.isUp = false;
      const at = performance.now();
      node.child.kill("SIGKILL");
      await measureTakeover(node, at);
      await nodes.replace(node);
    },
    async freezeNode() {
      const node = nodes.any();
      node.isUp = false;
      const at = performance.now();
      node.child.kill("SIGSTOP");
      await measureTakeover(node, at);
      await pause(chance.between(0, leaseMs / 2));
      node.child.kill("SIGCONT");
      node.isUp = true;
    },
    async drainNode() {
      const node = nodes.any();
      node.isUp = false;
      node.child.kill("SIGTERM");
      await node.exited;
      await nodes.replace(node);
    },
    killDatabase: () => database.killFor(chance.between(100, leaseMs)),
    promoteStandby: () => database.promote(),
    loseReplies: () => database.loseReplies(1500),
    async cutConnections() {
      for (let i = 0; i < 10; i++) {
        await database.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'chimera' AND random() < 0.5",
        );
        await pause(50);
      }
    },
  };
  return faults;
}

const CYCLE = [
  "killDatabase",
  "freezeNode",
  "loseReplies",
  "drainNode",
  "killDatabase",
  "freezeNode",
  "loseReplies",
  "cutConnections",
];

/** A server dies in every round; the database in every fourth, its machine in every tenth; something else in the others. */
export function faultsOfRound(round) {
  return ["killNode", CYCLE[round % CYCLE.length], ...(round % 10 === 4 ? ["promoteStandby"] : [])];
}

/** How long this process waits for a processor: so much later does everything happen on a machine that has other things to do. */
function measureLateness() {
  const EVERY_MS = 10;
  let late = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    late += Math.max(0, now - last - EVERY_MS - 2);
    last = now;
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    return late;
  };
}
