// What has been synced once the first record of a session is durable, also when another process made the session; and once a
// session was copied or deleted. A program does it under strace, which lists its system calls in order.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";

const [A, B] = ["mine-20260425T120300-aaaa1111", "mine-20260425T120301-bbbb2222"];
const program = fileURLToPath(new URL("synced.mjs", import.meta.url));

/** The calls between the program's marks, with the synced paths. */
function trace(which: string) {
  const directory = mkdtempSync(join(tmpdir(), "synced-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const [root, output] = [join(directory, "home"), join(directory, "calls")];
  const flags = ["-f", "-y", "-s", "4096", "-e", "trace=%file,fsync,fdatasync", "-o", output];
  execFileSync("strace", [...flags, process.execPath, program, which, root]);
  const phases = readFileSync(output, "utf8").split(/^.*rmdir\("mark"\).*$/m);
  const syncOf = (call: string) => /\b(?:fsync|fdatasync)\(\d+<([^>]+)>/.exec(call)?.[1];
  return phases.map((phase) => {
    const calls = phase.split("\n");
    const synced = calls.flatMap((call) => syncOf(call) ?? []).map((path) => path.replace(root, "ROOT"));
    /** The index of the first sync of the directory of all sessions, and of the last call that contains a name. */
    const syncedAt = calls.findIndex((call) => syncOf(call) === join(root, "eventlog"));
    const namedAt = (name: string) => calls.findLastIndex((call) => call.includes(`/eventlog/${name}`));
    const renamedAt = (name: string) => calls.findIndex((call) => /rename/.test(call) && call.includes(`/${name}"`));
    return { synced, syncedAt, namedAt, renamedAt, above: dirname(root) };
  });
}

describe("the disk has", { tags: ["needs-strace"] }, () => {
  test("the directories above all sessions only with the first session that has a record", () => {
    const [made, written] = trace("second");
    expect(made!.synced).toEqual([]);
    const all = [`ROOT/eventlog/${B}`, "ROOT/eventlog", "ROOT", written!.above];
    expect(written!.synced).toEqual(expect.arrayContaining(all));
  });

  test("a session that was closed before its first record, with that record", () => {
    const [made, written] = trace("again");
    expect(made!.synced).toEqual([]);
    const all = [`ROOT/eventlog/${A}`, "ROOT/eventlog", "ROOT", written!.above];
    expect(written!.synced).toEqual(expect.arrayContaining(all));
  });

  test("a summary with the first record only when the log holds no birth", () => {
    const [{ synced }] = trace("births") as [ReturnType<typeof trace>[number]];
    const summaries = [A, B].map((id) => `ROOT/eventlog/${id}/summary.json`);
    expect(summaries.map((path) => synced.some((one) => one.startsWith(path)))).toEqual([false, true]);
  });

  test("sessions that get their first record together, with few syncs of the directory of all sessions", () => {
    const [, written] = trace("together");
    expect(written!.synced.filter((path) => path === "ROOT/eventlog").length).toBeLessThan(5);
    expect(written!.synced.filter((path) => dirname(path) === "ROOT/eventlog").length).toBeGreaterThanOrEqual(20);
  });

  test("a copy with its name once it is durable", () => {
    const [, copied] = trace("copy");
    const { synced, syncedAt, renamedAt } = copied!;
    expect(synced.some((path) => dirname(path).startsWith("ROOT/eventlog/") && path.includes("/event-"))).toBe(true);
    expect(renamedAt(B)).toBeGreaterThan(-1);
    expect(syncedAt).toBeGreaterThan(renamedAt(B));
  });

  test("nothing of a session once it is deleted", () => {
    const [, deleted] = trace("deletion");
    expect(deleted!.synced).toEqual(["ROOT/eventlog"]);
    expect(deleted!.namedAt(A)).toBeGreaterThan(-1);
    expect(deleted!.syncedAt).toBeGreaterThan(deleted!.namedAt(A));
  });
});
