// Cuts, fills and flips bytes of finished logs: exactly what was damaged is missing, and reported.
import { copyFileSync, cpSync, readdirSync, rmSync, unlinkSync } from "node:fs";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileStore } from "../dist/index.js";

const ID = "fault-20260101T000000-00000000";
const OTHER = "fault-20260101T000001-00000001";

async function makeLog(records, durability = "none") {
  const root = await mkdtemp(join(tmpdir(), "faults-damage-"));
  const store = createFileStore({ root, durability });
  for (const id of [ID, OTHER]) {
    const writer = await store.create(id, { run_id: id, turns: 1 });
    for (let i = 0; i < records; i++) {
      writer.append([{ type: i % 3 === 0 ? "tool_call" : "text_delta", turn: 0, metadata: { text: `n ${i} é "q"` } }]);
    }
    await writer.close();
  }
  await store.close();
  const directory = join(root, "eventlog", ID);
  const name = (await readdir(directory)).find((file) => file.endsWith(".ndjson"));
  const path = join(directory, name);
  const bytes = await readFile(path);
  const pristine = `${root}-pristine`;
  cpSync(directory, pristine, { recursive: true });
  return {
    root,
    path,
    bytes,
    /** Back to the undamaged log, without what the last trial's writer added. */
    restore() {
      for (const file of readdirSync(directory)) unlinkSync(join(directory, file));
      for (const file of readdirSync(pristine)) copyFileSync(join(pristine, file), join(directory, file));
    },
    dispose() {
      for (const path of [root, pristine]) rmSync(path, { recursive: true, force: true });
    },
  };
}

async function readBack(store) {
  const seqs = [];
  const lost = [];
  for await (const entry of store.read(ID)) {
    if ("last" in entry) {
      lost.push(entry);
      continue;
    }
    JSON.parse(entry.line);
    seqs.push(entry.seq);
  }
  return { seqs, lost };
}

/** Lines of a segment as [start, end) with the number of the record, 0 for the header. */
function linesOf(bytes) {
  const lines = [];
  for (let start = 0, seq = 0; start < bytes.length; seq++) {
    const end = bytes.indexOf(10, start) + 1;
    lines.push({ seq, start, end });
    start = end;
  }
  return lines;
}

/** The last records of a 50-record log cut at every byte offset, and tails of zeros, old and random bytes. */
export async function tornTails({ offsets }) {
  const log = await makeLog(50);
  const lines = linesOf(log.bytes);
  const failures = [];
  let executed = 0;
  const from = Math.max(1, log.bytes.length - offsets);
  const trials = [];
  for (let cut = from; cut < log.bytes.length; cut++)
    trials.push({ what: `cut at ${cut}`, cut, tail: Buffer.alloc(0) });
  for (const cut of lines.slice(-5).map((line) => line.start)) {
    trials.push({ what: `zeros at ${cut}`, cut, tail: Buffer.alloc(300) });
    trials.push({ what: `old bytes at ${cut}`, cut, tail: log.bytes.subarray(lines[3].start + 5, lines[6].start + 9) });
    const noise = Buffer.from(Array.from({ length: 300 }, () => Math.floor(Math.random() * 256)));
    trials.push({ what: `noise at ${cut}`, cut, tail: noise });
  }
  for (const { what, cut, tail } of trials) {
    await writeFile(log.path, Buffer.concat([log.bytes.subarray(0, cut), tail]));
    // A record without its line break is whole.
    const whole = lines.filter((line) => line.seq > 0 && line.end - 1 <= cut).length;
    const reports = [];
    const store = createFileStore({
      root: log.root,
      durability: "none",
      onTornTail: (_id, where) => reports.push(where),
    });
    try {
      const before = await readBack(store);
      if (before.seqs.length !== whole) failures.push(`${what}: ${before.seqs.length} of ${whole} records`);
      const writer = await store.open(ID);
      if (writer.lastSeq !== whole) failures.push(`${what}: opened at ${writer.lastSeq}, ${whole} are whole`);
      const clean = tail.length === 0 && lines.some((line) => cut === line.end || cut === line.end - 1);
      if (reports.length !== (clean ? 0 : 1)) failures.push(`${what}: ${reports.length} reports`);
      writer.append([{ type: "next" }]);
      await writer.close();
      const after = await readBack(store);
      if (after.seqs.length !== whole + 1 || after.seqs.at(-1) !== whole + 1) failures.push(`${what}: append was lost`);
      const listed = (await store.list()).sessions.length;
      if (listed !== 2) failures.push(`${what}: ${listed} of 2 sessions listed`);
    } catch (error) {
      failures.push(`${what}: ${error.stack}`);
    }
    await store.close();
    log.restore();
    executed++;
  }
  log.dispose();
  return { name: "torn tails", executed, expected: trials.length, failures };
}

/**
 * Single bits flipped anywhere in a segment: only the record hit is missing, and it is the one reported as lost. A line break joins
 * two; the last line is a torn tail when its line break or its number is hit. Joined to the one before, nothing tells that it was there.
 */
export async function bitFlips({ flips }) {
  const log = await makeLog(200);
  const lines = linesOf(log.bytes);
  const failures = [];
  let executed = 0;
  const store = createFileStore({ root: log.root, durability: "none" });
  for (let i = 0; i < flips; i++) {
    const at = Math.floor(Math.random() * log.bytes.length);
    const bit = 1 << Math.floor(Math.random() * 8);
    const bytes = Buffer.from(log.bytes);
    bytes[at] ^= bit;
    await writeFile(log.path, bytes);
    const hit = lines.find((line) => at >= line.start && at < line.end);
    const breakHit = at === hit.end - 1;
    const isJoined = hit.seq === 199 && breakHit;
    const isTail = isJoined || (hit.seq === 200 && (breakHit || at < hit.start + '{"seq":200,'.length));
    const hits = breakHit ? [hit.seq, hit.seq + 1] : [hit.seq];
    const gone = hits.filter((seq) => seq >= 1 && seq <= 200);
    const what = `bit ${bit} of byte ${at} (record ${hit.seq}${breakHit ? ", its line break" : ""})`;
    try {
      const { seqs, lost } = await readBack(store);
      const missing = lines
        .slice(1)
        .filter((line) => !seqs.includes(line.seq))
        .map((line) => line.seq);
      if (missing.join() !== gone.join()) failures.push(`${what}: missing ${missing}`);
      const reported = lost.flatMap((one) => range(one.seq, one.last));
      const known = gone.filter((seq) => !isTail || seq < 200);
      if (reported.join() !== known.join()) failures.push(`${what}: reported ${JSON.stringify(lost)}`);
      if ((await store.lastSeq(ID)) !== (isTail ? 199 : 200))
        failures.push(`${what}: the last number is ${await store.lastSeq(ID)}`);
    } catch (error) {
      failures.push(`${what}: ${error.stack}`);
    }
    executed++;
  }
  await store.close();
  log.dispose();
  return { name: "bit flips", executed, expected: flips, failures };
}

function range(first, last) {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** Each file of a session in turn zeroed or emptied: other sessions stay, and the process lives. */
export async function zeroedFiles() {
  const log = await makeLog(20);
  const directory = join(log.root, "eventlog", ID);
  const failures = [];
  let executed = 0;
  let expected = 0;
  for (const file of await readdir(directory)) {
    for (const fill of [(size) => Buffer.alloc(size), () => Buffer.alloc(0)]) {
      expected++;
      const bytes = await readFile(join(directory, file));
      await writeFile(join(directory, file), fill(bytes.length));
      const store = createFileStore({ root: log.root, durability: "none" });
      const marked = [];
      try {
        const { sessions } = await store.list({ onUnreadable: (id) => marked.push(id) });
        if (!sessions.some((session) => session.id === OTHER)) failures.push(`${file}: the other session is hidden`);
        if (file === "summary.json" && marked.length !== 1) failures.push(`${file}: not marked`);
        const { seqs } = await readBack(store);
        // A log of which nothing is left reads as damage, not as an empty one.
        if (seqs.length !== 20) failures.push(`${file}: ${seqs.length} records`);
      } catch (error) {
        if (file !== log.path.split("/").at(-1) || error.code !== "damaged") failures.push(`${file}: ${error.stack}`);
      }
      await store.close();
      log.restore();
      executed++;
    }
  }
  log.dispose();
  return { name: "zeroed files", executed, expected, failures };
}
