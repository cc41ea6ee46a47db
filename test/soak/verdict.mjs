// The verdict at the end: the limits of the run, the measured values, and whether they are within the limits.
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { filesBelow, processesWith } from "./footprint.mjs";

/** Growth of the long-lived server's memory that is put down to chance. */
const DRIFT = 0.1;
/** How many bytes an unloaded session may leave on the heap. */
const HEAP_BYTES = 4096;
/** What a session may take on disk besides its records: summary, headers, claims. */
const SESSION_BYTES = 8192;
/** What a window may hold, whatever it was shown. */
const PAGE_BYTES = 30 * 2 ** 20;

export function judge({ rests, nodes, window, seen, lived, ledger, programs, mark, root, total }) {
  const [baseline] = rests;
  const home = join(root, "home");
  const files = filesBelow(home);
  const size = (part) =>
    files.filter(({ path }) => path.startsWith(join(home, part))).reduce((sum, { bytes }) => sum + bytes, 0);
  const left = processesWith(mark).concat(processesWith(root));
  const opened = added(baseline.descriptors, rests.at(-1).descriptors);
  const undeleted = seen.deleted.filter((id) => existsSync(join(home, "eventlog", id)));
  const scraps = files.filter(({ path }) => /\.tmp|\.part/.test(basename(path)));
  const logBytes = size("eventlog");
  const bound = seen.bytes * 1.1 + seen.sessions * SESSION_BYTES;

  const row = (what, found, wanted, ok) => ({ what, found, wanted, ok });
  return [
    row("sessions lived", lived, `${total} or more`, lived >= total),
    row("records read once more", seen.records, "more than none", seen.records > 0),
    row("events lost, repeated or changed", ledger.faults.length, 0, ledger.faults.length === 0),
    row("polite ends that were not exit 0", programs.counts.exits.length, 0, programs.counts.exits.length === 0),
    driftRow("drift of memory in use", rests),
    growthRow(rests),
    ...(nodes ?? []).map((one, i) => driftRow(`drift of memory in use, node ${i + 1} on PostgreSQL`, one)),
    ...(window ? windowRows(window) : []),
    row("descriptors above the baseline", describeOpened(opened), 0, opened.length === 0),
    row("processes left", left.length + programs.live.size, 0, left.length + programs.live.size === 0),
    row("event logs, MiB", mib(logBytes), `${mib(bound)} or less`, logBytes <= bound),
    row("all data, MiB", mib(size("")), "", true),
    row("files of deleted sessions", undeleted.length, 0, undeleted.length === 0),
    row("temporary files left", scraps.length, 0, scraps.length === 0),
  ];
}

// --- internal ---

/** Node opens one of these for all watched directories, with the first one, and keeps it for its life. */
const OF_EVERY_WATCH = "anon_inode:inotify";

/** What descriptors lead to, without the numbers that are others each time. */
function added(before, after) {
  const known = [...before.map(kindOf), OF_EVERY_WATCH];
  return after.map(kindOf).filter((kind) => {
    const at = known.indexOf(kind);
    if (at >= 0) known.splice(at, 1);
    return at < 0;
  });
}

const kindOf = (target) => target.replace(/:\[\d+\]$/, "");

const describeOpened = (opened) => (opened.length === 0 ? 0 : `${opened.length} (${opened.join(", ")})`);

/**
 * Resident memory, without the reserve of the garbage collector, in the run's first half after a warm-up against its second,
 * each by its least: it swings upwards by chance, never down. The first rest is before any load and the second after the
 * first part; both are warm-up.
 */
function driftRow(what, rests) {
  const measured = rests.slice(2).map(({ inUse }) => inUse);
  const half = Math.floor(measured.length / 2);
  const before = Math.min(...measured.slice(0, half));
  const after = Math.min(...measured.slice(-half));
  const drift = after / before - 1;
  const found = `${(drift * 100).toFixed(1)}% (${mib(before)} -> ${mib(after)} MiB)`;
  return { what, found, wanted: `under ${DRIFT * 100}%`, ok: drift < DRIFT };
}

/** What stays on the heap for each further session. Its row in the index of stored sessions may; a leak is much more. */
function growthRow(rests) {
  const [first, last] = [rests[2], rests.at(-1)];
  const bytes = (last.heapUsed - first.heapUsed) / (last.sessions - first.sessions);
  const found = `${Math.round(bytes)} (${mib(first.heapUsed)} -> ${mib(last.heapUsed)} MiB)`;
  return { what: "heap per session, bytes", found, wanted: `under ${HEAP_BYTES}`, ok: bytes < HEAP_BYTES };
}

/** The page keeps what it shows, and the rows of a list; what it has shown goes. */
function windowRows({ heaps, problems }) {
  const worst = Math.max(...heaps);
  return [
    {
      what: "heap of the page, MiB",
      found: mib(worst),
      wanted: `under ${mib(PAGE_BYTES)}`,
      ok: worst < PAGE_BYTES,
    },
    { what: "errors on the page", found: problems.join("; ") || 0, wanted: 0, ok: problems.length === 0 },
  ];
}

function mib(bytes) {
  return (bytes / 2 ** 20).toFixed(1);
}
