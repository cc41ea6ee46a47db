import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import {
  type AuditEntry,
  answerFiles,
  auditFiles,
  copyAnswers,
  copyAudit,
  createAudit,
  fileChain,
  verifyAudit,
} from "../src/index.js";

const entry: AuditEntry = {
  sessionId: "otter-20260425T120300-aaaa1111",
  turn: 0,
  callId: "call-1",
  tool: "write_file",
  args: { path: "a.txt" },
  decision: "allow",
  answer: "allow",
  by: "client",
  rule: null,
  why: "a person said so",
};

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), "chimera-kept-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

async function decide(directory: string, count: number): Promise<void> {
  const audit = createAudit(fileChain(directory));
  for (let n = 0; n < count; n++) await audit.append({ ...entry, callId: `call-${n}` });
  await audit.close();
}

const logsIn = (directory: string) => readdirSync(directory).filter((name) => name.endsWith(".jsonl"));

it("copies chains unchanged and only once, and completes one that has grown", async () => {
  const [here, there] = [scratch(), scratch()];
  await decide(here, 3);
  const [log = ""] = logsIn(here);
  const whole = readFileSync(join(here, log), "utf8");
  const lines = whole.split("\n");
  // A process is just appending its third line.
  writeFileSync(join(here, log), `${lines.slice(0, 2).join("\n")}\n${lines[2]!.slice(0, 40)}`);
  expect(await copyAudit(auditFiles(here), auditFiles(there))).toEqual({ copied: 1, unchanged: 0, left: [] });
  expect(readFileSync(join(there, log), "utf8")).toBe(`${lines.slice(0, 2).join("\n")}\n`);
  writeFileSync(join(here, log), whole);
  await decide(here, 1);
  expect(await copyAudit(auditFiles(here), auditFiles(there))).toEqual({ copied: 2, unchanged: 0, left: [] });
  expect(await copyAudit(auditFiles(here), auditFiles(there))).toEqual({ copied: 0, unchanged: 2, left: [] });
  expect(readFileSync(join(there, log), "utf8")).toBe(whole);
  expect(await verifyAudit(auditFiles(there))).toEqual(await verifyAudit(auditFiles(here)));
  expect(await verifyAudit(auditFiles(there))).toMatchObject({ ok: true, files: 2, entries: 4 });
  expect(readdirSync(there).filter((name) => name.endsWith(".draft"))).toEqual([]);
});

it("does not copy a chain that differs in the target, and reports its name", async () => {
  const [here, there] = [scratch(), scratch()];
  await decide(here, 2);
  await copyAudit(auditFiles(here), auditFiles(there));
  const [log = ""] = logsIn(here);
  const changed = readFileSync(join(there, log), "utf8").replace("call-1", "call-9");
  writeFileSync(join(there, log), changed);
  expect(await copyAudit(auditFiles(here), auditFiles(there))).toEqual({ copied: 0, unchanged: 0, left: [log] });
  expect(readFileSync(join(there, log), "utf8")).toBe(changed);
});

it("adds missing answers in their order, and the target's own answers win", async () => {
  const [from, to] = [answerFiles(scratch()), answerFiles(scratch())];
  const line = (key: string, answer: string, workspace = "/work") => JSON.stringify({ v: 3, key, answer, workspace });
  for (const one of [line("a", "always"), line("b", "always")]) await from.add("/work", one);
  await from.add("/other", line("a", "never", "/other"));
  expect((await from.workspaces()).toSorted()).toEqual(["/other", "/work"]);
  expect(await copyAnswers(from, to)).toBe(3);
  expect(await copyAnswers(from, to)).toBe(0);
  // An older copy is updated.
  await from.add("/work", line("a", "never"));
  expect(await copyAnswers(from, to)).toBe(1);
  expect((await to.read("/work")).split("\n").filter(Boolean).at(-1)).toBe(line("a", "never"));
  // An answer that the person gave there meanwhile wins.
  await to.add("/work", line("b", "never"));
  await from.add("/work", line("b", "always").replace("3", "4"));
  await from.add("/work", line("c", "always"));
  expect(await copyAnswers(from, to)).toBe(1);
  expect((await to.read("/work")).split("\n").filter(Boolean).slice(-2)).toEqual([
    line("b", "never"),
    line("c", "always"),
  ]);
});

it("skips lines without an answer", async () => {
  const directory = scratch();
  const from = answerFiles(directory);
  await from.add("/work", JSON.stringify({ key: "a", answer: "always", workspace: "/work" }));
  const [name = ""] = readdirSync(directory);
  writeFileSync(join(directory, name), '{"key":"b","ans', { flag: "a" });
  expect(await copyAnswers(from, answerFiles(scratch()))).toBe(1);
});

it.each(["../outside.jsonl", "audit-../../x.jsonl", "audit-x", "other.jsonl", ""])(
  "refuses the chain name %j, which would lead elsewhere",
  async (name) => {
    const there = scratch();
    const chain = {
      name,
      head: null,
      async *lines() {
        yield "{}";
      },
    };
    await expect(auditFiles(there).put(chain)).rejects.toThrow(/name of a chain/);
    expect(readdirSync(there)).toEqual([]);
  },
);

it.runIf(process.platform === "linux")("closes the file of a chain that was read only in part", async () => {
  const here = scratch();
  writeFileSync(join(here, "audit-a.jsonl"), "{}\n".repeat(100_000));
  const [chain] = await auditFiles(here).all();
  const openFiles = () => readdirSync("/proc/self/fd").filter((fd) => readlink(fd).startsWith(here));
  for (let n = 0; n < 5; n++) for await (const _ of chain!.lines()) break;
  await expect.poll(openFiles).toEqual([]);
});

function readlink(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return "";
  }
}
