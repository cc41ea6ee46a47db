import { execFile } from "node:child_process";
import { appendFile, readdir, readFile, rm, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type AuditEntry, auditFiles, createAudit, fileChain, verifyAudit } from "../src/index.js";
import { bench } from "./call.js";

const entry = (n: number): AuditEntry => ({
  sessionId: "otter-1",
  turn: 0,
  callId: `call-${n}`,
  tool: "Bash",
  args: { command: `echo ${n}` },
  decision: n % 2 === 0 ? "allow" : "deny",
  answer: "always",
  by: "client",
  rule: null,
  why: "it may change something",
});

async function written(count = 5, from = 0) {
  const { outside } = await bench();
  const directory = join(outside, "audit");
  const audit = createAudit(fileChain(directory));
  await Promise.all(Array.from({ length: count }, (_, n) => audit.append(entry(from + n))));
  await audit.close();
  const name = (await readdir(directory)).find((each) => each.endsWith(".jsonl")) as string;
  const file = join(directory, name);
  const edit = async (change: (lines: string[]) => string[]) => {
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    await writeFile(file, `${change(lines).join("\n")}\n`);
  };
  return { directory, file, edit };
}

describe("the audit log", () => {
  test("an unchanged log verifies, as a file and as a directory, and only its owner can read it", async () => {
    const { directory, file } = await written();
    expect(await verifyAudit(auditFiles(file))).toEqual({ ok: true, files: 1, entries: 5, problems: [] });
    expect(await verifyAudit(auditFiles(directory))).toMatchObject({ ok: true, entries: 5 });
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await verifyAudit(auditFiles(join(directory, "nowhere")))).toMatchObject({ ok: true, files: 0 });
  });

  test.each<[string, (lines: string[]) => string[], string]>([
    [
      "a changed word",
      (lines) => lines.map((line, n) => (n === 2 ? line.replace("echo 2", "echo 9") : line)),
      "the line was changed",
    ],
    [
      "a changed decision",
      (lines) => lines.map((line, n) => (n === 1 ? line.replace('"deny"', '"allow"') : line)),
      "the line was changed",
    ],
    ["a missing line", (lines) => lines.toSpliced(2, 1), "missing or out of order"],
    ["a missing first line", (lines) => lines.slice(1), "missing or out of order"],
    ["a missing last line", (lines) => lines.slice(0, -1), "missing at the end"],
    ["a missing half", (lines) => lines.slice(0, 2), "missing at the end"],
    ["an emptied log", () => [], "missing at the end"],
    ["swapped lines", ([a, b, c, ...rest]) => [a, c, b, ...rest] as string[], "missing or out of order"],
    ["a doubled line", ([a, b, ...rest]) => [a, b, b, ...rest] as string[], "missing or out of order"],
  ])("finds %s", async (_, change, problem) => {
    const { directory, edit } = await written();
    await edit(change);
    const report = await verifyAudit(auditFiles(directory));
    expect(report.ok).toBe(false);
    expect(report.problems.map((each) => each.problem).join("\n")).toContain(problem);
  });

  test("finds a line from another log", async () => {
    const { directory, edit, file } = await written();
    // The other log has other calls, because logs of the same calls in the same millisecond are equal.
    const other = await written(5, 10);
    const foreign = (await readFile(other.file, "utf8")).split("\n")[2] as string;
    await edit((lines) => lines.with(2, foreign));
    const { problems } = await verifyAudit(auditFiles(directory));
    expect(problems.map(({ problem }) => problem)).toEqual([
      "it does not follow the line before",
      "it does not follow the line before",
    ]);
    expect(problems[0]?.file).toBe(file.split("/").at(-1));
  });

  test("finds a missing log or head", async () => {
    const one = await written();
    await unlink(one.file);
    expect(await verifyAudit(auditFiles(one.directory))).toMatchObject({
      ok: false,
      problems: [{ problem: "the log is missing" }],
    });
    const two = await written();
    await unlink(`${two.file}.head`);
    expect(await verifyAudit(auditFiles(two.directory))).toMatchObject({
      ok: false,
      problems: [{ problem: "the head is missing" }],
    });
  });

  test("a line that a crash cut off is not reported as changed", async () => {
    const { directory, file } = await written();
    await appendFile(file, '{"n":6,"ts":"20');
    expect(await verifyAudit(auditFiles(directory))).toMatchObject({ ok: true });
  });

  test("a partly written line is removed, and the next line follows the one before it", async () => {
    const { outside } = await bench();
    const program = `
      const { createAudit, fileChain } = await import(${JSON.stringify(import.meta.resolve("@chimera/policy"))});
      const audit = createAudit(fileChain(process.argv[1]));
      const entry = ${JSON.stringify(entry(1))};
      await audit.append(entry);
      const refused = await audit.append({ ...entry, why: "x".repeat(2000) }).catch(({ code }) => code);
      await audit.append(entry);
      console.log(refused);`;
    // A file size limit simulates a full disk: bytes up to the limit are written.
    const limited = ["-c", 'ulimit -f 2; exec "$0" --input-type=module -e "$@"', process.execPath, program, outside];
    expect((await promisify(execFile)("sh", limited)).stdout).toBe("EFBIG\n");
    expect(await verifyAudit(auditFiles(outside))).toEqual({ ok: true, files: 1, entries: 2, problems: [] });
  });

  test("two writers have two chains", async () => {
    const { directory } = await written();
    const audit = createAudit(fileChain(directory));
    await audit.append(entry(9));
    expect(await verifyAudit(auditFiles(directory))).toMatchObject({ ok: true, files: 2, entries: 6 });
    await audit.close();
  });

  test("long arguments become their hash, and an unwritable directory is an error each time", async () => {
    const { outside } = await bench();
    const directory = join(outside, "audit");
    const audit = createAudit(fileChain(directory));
    await audit.append({ ...entry(1), args: { content: "x".repeat(100_000) } });
    await audit.close();
    const [name] = await readdir(directory);
    expect((await readFile(join(directory, name as string), "utf8")).length).toBeLessThan(1000);
    await rm(directory, { recursive: true });
    await writeFile(directory, "in the way");
    const blocked = createAudit(fileChain(directory));
    await expect(blocked.append(entry(1))).rejects.toThrow();
    await expect(blocked.append(entry(2))).rejects.toThrow();
    await blocked.close();
  });
});
