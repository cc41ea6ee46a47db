// Full, read-only, failing, lying and slow disks. Needs root, strace, mount and prlimit: without them these faults fail.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createFileStore } from "../dist/index.js";
import { injecting, oneThread } from "./strace.mjs";
import { parseAcks, verifyStore } from "./verify.mjs";

const WRITER = new URL("./writer.mjs", import.meta.url).pathname;
const STORE = JSON.stringify(new URL("../dist/index.js", import.meta.url).href);
const run = (file, ...args) => execFileSync(file, args, { stdio: ["ignore", "ignore", "pipe"] });
const big = (i) => ({ type: "text_delta", metadata: { text: `${i} ${"x".repeat(3000)}` } });

/** Runs a body with a file system of its own, and says what went wrong in it. */
async function onMount(name, mount, body) {
  const directory = mkdtempSync(join(tmpdir(), "faults-disk-"));
  const at = join(directory, "mnt");
  const failures = [];
  let executed = 0;
  try {
    execFileSync("mkdir", [at]);
    mount(at, directory);
    try {
      await body(at, (problem) => failures.push(problem), directory);
      executed = 1;
    } finally {
      spawnSync("umount", ["-l", at]);
    }
  } catch (error) {
    failures.push(String(error.stack));
  }
  rmSync(directory, { recursive: true, force: true });
  return { name, executed, expected: 1, failures };
}

const tmpfs = (size) => (at) => run("mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", at);

function ext4(megabytes) {
  return (at, directory) => {
    const image = join(directory, "image");
    run("truncate", "-s", `${megabytes}M`, image);
    run("mkfs.ext4", "-q", "-F", image);
    run("mount", "-o", "loop", image, at);
  };
}

/** Appends until the disk is full, frees it, and goes on with the same writer. */
async function fillAndFree(at, problem) {
  const id = "full-20260101T000000-00000000";
  const store = createFileStore({ root: join(at, "home") });
  const otherRoot = mkdtempSync(join(tmpdir(), "faults-other-"));
  const elsewhere = createFileStore({ root: otherRoot });
  const other = await elsewhere.create(id, {});
  const writer = await store.create(id, {});
  const seen = [];
  store.subscribe(id, { from: 0 }, (batch) => {
    for (const entry of batch) seen.push(entry.seq);
  });
  let code = null;
  let acked = 0;
  for (let i = 0; i < 20_000 && code === null; i++) {
    try {
      writer.append([big(i), big(i)]);
      await writer.durable();
      acked = writer.lastSeq;
    } catch (error) {
      code = error.code;
    }
  }
  if (code !== "storage_full") problem(`a full disk is reported as ${code}`);
  for (let i = 0; i < 5; i++) {
    try {
      writer.append([big(i), big(i)]);
      await writer.durable();
      acked = writer.lastSeq;
    } catch (error) {
      if (error.code !== "storage_full") problem(`then as ${error.code}`);
    }
  }
  other.append([big(0)]);
  await other.durable();
  const read = [];
  for await (const entry of store.read(id)) "last" in entry ? problem(JSON.stringify(entry)) : read.push(entry.seq);
  if (read.length < acked) problem(`${acked} acknowledged, ${read.length} readable while full`);
  rmSync(join(at, "filler"), { force: true });
  const [first] = writer.append([{ type: "recovered" }]);
  await writer.durable();
  if (first.seq !== read.length + 1) problem(`continued at ${first.seq} after ${read.length}`);
  await delay(20);
  if (seen.join() !== Array.from({ length: first.seq }, (_, i) => i + 1).join()) problem("readers saw gaps or repeats");
  await store.close();
  await elsewhere.close();
  rmSync(otherRoot, { recursive: true, force: true });
  for (const one of await verifyStore(join(at, "home"), new Map([[id, first.seq]]))) problem(one);
}

const withFiller = (mount, bytes) => (at, directory) => {
  mount(at, directory);
  writeFileSync(join(at, "filler"), Buffer.alloc(bytes));
};

async function readOnlyRemount(at, problem) {
  const id = "ro-20260101T000000-00000000";
  const store = createFileStore({ root: join(at, "home") });
  let writer = await store.create(id, {});
  writer.append([big(1)]);
  await writer.durable();
  await writer.close();
  // No file is open for writing between two writers, or the remount would be refused.
  writer = await store.open(id);
  run("mount", "-o", "remount,ro", at);
  let code = null;
  try {
    writer.append([big(2)]);
    await writer.durable();
  } catch (error) {
    code = error.code;
    if (!/EROFS/.test(error.message)) problem(`the error does not name EROFS: ${error.message}`);
  }
  if (code !== "read_only") problem(`a read-only disk is reported as ${code}`);
  run("mount", "-o", "remount,rw", at);
  writer.append([big(3)]);
  await writer.durable();
  await store.close();
  for (const one of await verifyStore(join(at, "home"), new Map([[id, 2]]))) problem(one);
}

/** Runs a writer under strace with an injected fault; it must end by itself, with all it acknowledged in place. */
function injected(name, fault, expectation, records = 60) {
  return async () => {
    const root = mkdtempSync(join(tmpdir(), "faults-inject-"));
    const failures = [];
    const { stdout, status, error } = spawnSync(
      ...injecting(fault, process.execPath, WRITER, root, "2", String(records)),
      { encoding: "utf8", env: oneThread, timeout: 60_000 },
    );
    if (error !== undefined || status !== 0) failures.push(`the writer ended with ${error ?? status}`);
    const refused = (stdout ?? "").split("\n").filter((line) => line.includes("refused")).length;
    const acks = parseAcks(stdout ?? "");
    if (acks.size !== 2) failures.push(`${acks.size} of 2 sessions acknowledged anything`);
    if (expectation === "refusals" && refused === 0) failures.push("no fault was noticed");
    const problems = await verifyStore(root, acks);
    const lost = problems.filter((problem) => problem.includes('"reason":"damaged"')).length;
    if (expectation === "damage") {
      // The kernel said it wrote what it did not: each such record is reported, and no other is missing.
      const jumps = problems.filter((problem) => problem.includes("in place of")).length;
      if (lost === 0 || lost !== jumps || problems.length !== lost + jumps) failures.push(...problems);
    } else failures.push(...problems);
    rmSync(root, { recursive: true, force: true });
    return { name, executed: 1, expected: 1, failures };
  };
}

async function fewDescriptors() {
  const root = mkdtempSync(join(tmpdir(), "faults-files-"));
  const { stdout, stderr, status } = spawnSync("prlimit", ["--nofile=64", process.execPath, WRITER, root, "200", "5"], {
    encoding: "utf8",
    timeout: 60_000,
  });
  const acks = parseAcks(stdout ?? "");
  const failures =
    status === 0 && acks.size === 200 ? [] : [`ended with ${status}, ${acks.size} of 200 sessions: ${stderr}`];
  failures.push(...(await verifyStore(root, acks)));
  rmSync(root, { recursive: true, force: true });
  return { name: "64 descriptors, 200 writers", executed: 1, expected: 1, failures };
}

/** Copies the device under a frozen writer: what was not synced is not in the copy. */
async function powerLoss() {
  const rounds = 5;
  let executed = 0;
  const failures = [];
  for (let round = 0; round < rounds; round++) {
    const result = await onMount("", ext4(64), async (at, problem, directory) => {
      const child = spawn(process.execPath, [WRITER, join(at, "home")], { stdio: ["ignore", "pipe", "inherit"] });
      const closed = new Promise((resolve) => child.once("close", resolve));
      let text = "";
      child.stdout.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      while (text === "") await delay(10);
      await delay(Math.random() * 600);
      const acks = parseAcks(text);
      child.kill("SIGSTOP");
      copyFileSync(join(directory, "image"), join(directory, "after"));
      child.kill("SIGKILL");
      await closed;
      run("umount", at);
      run("mount", "-o", "loop", join(directory, "after"), at);
      if (acks.size === 0) problem("nothing was acknowledged");
      for (const one of await verifyStore(join(at, "home"), acks)) problem(one);
    });
    executed += result.executed;
    failures.push(...result.failures.map((failure) => `round ${round}: ${failure}`));
  }
  return { name: "power loss", executed, expected: rounds, failures };
}

/** After a failed sync the store goes on in a new segment: the kernel may have dropped the pages, and reports success when asked again. */
async function repeatedSync() {
  const root = mkdtempSync(join(tmpdir(), "faults-again-"));
  const program = `
    import { readdirSync } from "node:fs";
    import { createFileStore } from ${STORE};
    const store = createFileStore({ root: ${JSON.stringify(root)} });
    const writer = await store.create("again", {});
    writer.append([{ type: "a" }]);
    const first = await writer.durable().then(() => "durable", (error) => error.code);
    const second = await writer.durable().then(() => "durable", (error) => error.code);
    const segments = readdirSync(${JSON.stringify(join(root, "eventlog", "again"))}).filter((name) => name.endsWith(".ndjson"));
    console.log([first, second, segments.length].join());
    await store.close();`;
  const { stdout } = spawnSync(
    ...injecting("fdatasync:error=EIO:when=1", process.execPath, "--input-type=module", "-e", program),
    { encoding: "utf8", env: oneThread, timeout: 60_000 },
  );
  const failures = stdout.trim() === "io,durable,2" ? [] : [`answered ${stdout}`];
  failures.push(...(await verifyStore(root, new Map([["again", 1]]))));
  rmSync(root, { recursive: true, force: true });
  return { name: "sync asked for again", executed: 1, expected: 1, failures };
}

/** A sync of half a second must not hold up the event loop. */
async function slowDisk() {
  const root = mkdtempSync(join(tmpdir(), "faults-slow-"));
  const program = `
    import { createFileStore } from ${STORE};
    const store = createFileStore({ root: ${JSON.stringify(root)} });
    const writer = await store.create("slow", {});
    let worst = 0, last = performance.now();
    const timer = setInterval(() => { const now = performance.now(); worst = Math.max(worst, now - last - 5); last = now; }, 5);
    for (let i = 0; i < 4; i++) { writer.append([{ type: "a" }]); await writer.durable(); last = performance.now(); }
    clearInterval(timer);
    console.log(Math.round(worst));
    await store.close();`;
  const { stdout, status } = spawnSync(
    ...injecting("fdatasync:delay_exit=500000", process.execPath, "--input-type=module", "-e", program),
    { encoding: "utf8", timeout: 60_000 },
  );
  rmSync(root, { recursive: true, force: true });
  const failures =
    status === 0 && stdout.trim() !== "" && Number(stdout) < 250 ? [] : [`stalled for ${stdout} ms (${status})`];
  return { name: "slow disk", executed: 1, expected: 1, failures };
}

export const disk = [
  () => onMount("full tmpfs, short writes", withFiller(tmpfs("1m"), 500_000), fillAndFree),
  () => onMount("full ext4", withFiller(ext4(8), 3_000_000), fillAndFree),
  () => onMount("read-only remount", ext4(16), readOnlyRemount),
  injected("failing fdatasync", "fdatasync:error=EIO:when=3+4", "refusals"),
  injected("failing fdatasync, again and again", "fdatasync:error=EIO:when=1..5", "refusals"),
  injected("failing fdatasync, every other", "fdatasync:error=EIO:when=4+2", "refusals"),
  injected("failing fsync of a directory", "fsync:error=EIO:when=6+7", "refusals"),
  injected("failing write", "pwrite64:error=EIO:when=5+6", "refusals"),
  injected("read-only at a write", "pwrite64:error=EROFS:when=5+6", "refusals"),
  injected("full disk at a write", "pwrite64:error=ENOSPC:when=5+6", "refusals"),
  injected("short write that lies", "pwrite64:retval=3:when=6+7", "damage"),
  repeatedSync,
  slowDisk,
  fewDescriptors,
  powerLoss,
];
