// Processes that fight for one claim and are killed while they hold it: never two owners at once.
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { claim, createHeartbeat } from "../dist/claim/index.js";
import { createFileStore, LIMITS } from "../dist/index.js";

const WRITER = new URL("./writer.mjs", import.meta.url).pathname;
const SELF = new URL(import.meta.url).pathname;

/** Claims, marks entry and exit in a shared file, releases or waits to be killed; forever. */
async function churn(root) {
  const heartbeat = createHeartbeat(join(root, "run"));
  const fd = openSync(join(root, "journal"), "a");
  for (;;) {
    let held;
    try {
      held = claim(join(root, "lock"), { heartbeat });
    } catch (error) {
      if (error.code !== "claimed") throw error;
      await delay(Math.random() * 3);
      continue;
    }
    writeSync(fd, `in ${process.pid} ${held.fence}\n`);
    await delay(Math.random() * 2);
    writeSync(fd, `out ${process.pid} ${held.fence}\n`);
    held.release();
    await delay(Math.random());
  }
}

/** One claim attempt, announced at the given time; the winner stays until its input ends. */
async function start(root, at) {
  const heartbeat = createHeartbeat(join(root, "run"));
  await delay(Math.max(0, Number(at) - Date.now()));
  try {
    claim(join(root, "lock"), { heartbeat });
    appendFileSync(join(root, "journal"), `won ${process.pid}\n`);
    process.stdin.resume();
  } catch (error) {
    appendFileSync(join(root, "journal"), `${error.code} ${process.pid}\n`);
    heartbeat.stop();
  }
}

function launch(args) {
  return spawn(process.execPath, [SELF, ...args], { stdio: ["pipe", "inherit", "inherit"] });
}

const gone = (child) => new Promise((resolve) => child.once("close", resolve));

export async function claimChurn({ processes, seconds }) {
  const root = mkdtempSync(join(tmpdir(), "faults-claim-"));
  appendFileSync(join(root, "journal"), "");
  const killed = new Set();
  const children = Array.from({ length: processes }, () => launch(["churn", root]));
  const journal = () => readFileSync(join(root, "journal"), "utf8");
  const least = processes * seconds;
  const end = Date.now() + seconds * 1000;
  const deadline = end + 60_000;
  while (Date.now() < end || (countHolds(journal()) < least && Date.now() < deadline)) {
    // On a busy machine processes start slowly: kills that outrun them would leave nobody to compete.
    const before = countHolds(journal());
    await delay(40);
    while (countHolds(journal()) < before + 2 && Date.now() < deadline) await delay(20);
    const i = Math.floor(Math.random() * processes);
    // An owner dies mid-hold: its entry has no exit, and the next owner must have proven its death.
    const closed = gone(children[i]);
    children[i].kill("SIGKILL");
    await closed;
    killed.add(children[i].pid);
    appendFileSync(join(root, "journal"), `killed ${children[i].pid} 0\n`);
    children[i] = launch(["churn", root]);
  }
  // All stand still before the first of them dies: nobody enters after an owner that the list does not name.
  const last = children.map(gone);
  for (const signal of ["SIGSTOP", "SIGKILL"]) for (const child of children) child.kill(signal);
  await Promise.all(last);
  const { holds, failures } = checkJournal(journal(), killed);
  rmSync(root, { recursive: true, force: true });
  if (killed.size === 0 || holds < least) failures.push(`only ${holds} holds and ${killed.size} kills`);
  return {
    name: `claim churn (${holds} holds, ${killed.size} kills)`,
    executed: holds,
    expected: least,
    atLeast: true,
    failures,
  };
}

function countHolds(text) {
  return text.split("\nin ").length - 1;
}

/** An owner enters while another is inside only if that one was killed; fences only rise. */
function checkJournal(text, killed) {
  const failures = [];
  let inside = null;
  let fence = 0;
  let holds = 0;
  for (const line of text.split("\n").slice(0, -1)) {
    const [what, pid, token] = line.split(" ");
    if (what === "in") {
      holds++;
      if (inside !== null && !killed.has(Number(inside))) failures.push(`${pid} entered while ${inside} was inside`);
      if (Number(token) <= fence) failures.push(`fence ${token} after ${fence}`);
      fence = Number(token);
      inside = pid;
    } else if (what === "out") {
      if (inside !== pid) failures.push(`${pid} left, ${inside} was inside`);
      inside = null;
    }
  }
  return { holds, failures };
}

export async function claimStarters({ starters }) {
  const root = mkdtempSync(join(tmpdir(), "faults-claim-"));
  appendFileSync(join(root, "journal"), "");
  const at = String(Date.now() + 100 * starters);
  const children = Array.from({ length: starters }, () => launch(["start", root, at]));
  const closed = children.map(gone);
  const deadline = Date.now() + 60_000 + 100 * starters;
  let lines = [];
  while (lines.length < starters && Date.now() < deadline) {
    await delay(100);
    lines = readFileSync(join(root, "journal"), "utf8").split("\n").slice(0, -1);
  }
  for (const child of children) child.stdin.end();
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(closed);
  const winners = lines.filter((line) => line.startsWith("won ")).length;
  const refused = lines.filter((line) => line.startsWith("claimed ")).length;
  rmSync(root, { recursive: true, force: true });
  const failures = winners === 1 && refused === starters - 1 ? [] : [`${winners} winners, ${refused} refused`];
  return { name: "starters for one claim", executed: winners + refused, expected: starters, failures };
}

/** A holder frozen past its heartbeat, succeeded meanwhile, and woken: it must notice before it writes. */
export async function frozenHolder() {
  const root = mkdtempSync(join(tmpdir(), "faults-frozen-"));
  const failures = [];
  const child = spawn(process.execPath, [WRITER, root, "1"], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = gone(child);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    text = (text + chunk).slice(-200_000);
  });
  while (text === "") await delay(10);
  const id = text.split(" ")[0];
  child.kill("SIGSTOP");
  // Its claim is made to look like a dead process's, which is what 30 s of silence would prove too.
  const held = join(root, "eventlog", id, "claim.1");
  writeFileSync(held, JSON.stringify({ ...JSON.parse(readFileSync(held, "utf8")), start: "1" }));
  const store = createFileStore({ root });
  const writer = await store.open(id);
  writer.append([{ type: "successor" }]);
  await writer.durable();
  await delay(LIMITS.heartbeatLateMs + 1_000);
  child.kill("SIGCONT");
  const deadline = Date.now() + 10_000;
  while (!text.includes("refused fenced") && Date.now() < deadline) await delay(50);
  child.kill("SIGKILL");
  await closed;
  if (!text.includes("refused fenced")) failures.push("the frozen holder wrote on");
  if (!text.includes(" lost\n")) failures.push("the frozen holder's signal did not say that its claim was lost");
  const types = [];
  for await (const entry of store.read(id)) types.push(entry.type);
  if (types.at(-1) !== "successor" || types.length !== writer.lastSeq) failures.push("the log is not the successor's");
  await store.close();
  rmSync(root, { recursive: true, force: true });
  return { name: "frozen holder", executed: 1, expected: 1, failures };
}

if (process.argv[1] === SELF) await (process.argv[2] === "churn" ? churn : start)(...process.argv.slice(3));
