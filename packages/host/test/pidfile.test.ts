import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listPidfiles, stopAll, writePidfile } from "../src/pidfile.js";
import { makeHome } from "./program.js";

const ABOUT = { prefix: "otter", port: 5173, host: "127.0.0.1" };

/** An unrelated process. */
function bystander(): ChildProcess {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

const isAlive = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

async function withRecord(record: unknown): Promise<{ directory: string; path: string }> {
  const directory = await makeHome();
  const path = join(directory, "otter-5173.pid");
  writeFileSync(path, typeof record === "string" ? record : JSON.stringify(record));
  return { directory, path };
}

const recordOf = (pid: number, startedAt: number) => ({
  pid,
  host: "127.0.0.1",
  port: 5173,
  prefix: "otter",
  auth_token_hash: null,
  started_at: startedAt,
  scheme: "http",
});

describe("a pidfile", () => {
  it("is written for this process, listed, and removed", async () => {
    const directory = join(await makeHome(), "run");
    const pidfile = await writePidfile({ ...ABOUT, directory, scheme: "https", authToken: "hello" });
    expect(pidfile.path).toBe(join(directory, "otter-5173.pid"));
    expect(statSync(pidfile.path).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(pidfile.path, "utf8"))).toEqual({
      pid: process.pid,
      host: "127.0.0.1",
      port: 5173,
      prefix: "otter",
      auth_token_hash: "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
      started_at: expect.any(Number),
      scheme: "https",
    });
    expect(listPidfiles({ prefix: "otter", directory })).toEqual([
      { ...pidfile.record, path: pidfile.path, alive: true },
    ]);
    pidfile.remove();
    pidfile.remove();
    expect(listPidfiles({ prefix: "otter", directory })).toEqual([]);
    expect(readdirSync(directory).filter((name) => !name.startsWith("otter-5173.claim."))).toEqual([]);
  });

  it("has one owner until it is removed", async () => {
    const directory = await makeHome();
    const first = await writePidfile({ ...ABOUT, directory });
    await expect(writePidfile({ ...ABOUT, directory })).rejects.toMatchObject({
      code: "already_running",
      pid: process.pid,
      message: `already running on port 5173, PID ${process.pid}`,
    });
    const elsewhere = await writePidfile({ ...ABOUT, port: 5174, directory });
    first.remove();
    (await writePidfile({ ...ABOUT, directory })).remove();
    elsewhere.remove();
  });

  it("that another process has replaced is not removed", async () => {
    const directory = await makeHome();
    const pidfile = await writePidfile({ ...ABOUT, directory });
    writeFileSync(pidfile.path, JSON.stringify(recordOf(4242, 0)));
    pidfile.remove();
    expect(JSON.parse(readFileSync(pidfile.path, "utf8")).pid).toBe(4242);
  });

  it("is listed by prefix and port only", async () => {
    const directory = await makeHome();
    for (const name of [
      "otter-1.pid",
      "otter-02.pid",
      "otter-99999.pid",
      "otter-x.pid",
      "sea-otter-3.pid",
      "otter-4.pid.tmp-1",
    ]) {
      writeFileSync(join(directory, name), "{}");
    }
    expect(listPidfiles({ prefix: "otter", directory }).map(({ port }) => port)).toEqual([1]);
    expect(listPidfiles({ prefix: "otter", directory, port: 2 })).toEqual([]);
    expect(listPidfiles({ prefix: "otter", directory: join(directory, "missing") })).toEqual([]);
  });
});

it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "5"])("a wait of %s stops nothing", async (timeout) => {
  const directory = await makeHome();
  const stopping = stopAll({ prefix: "otter", directory, timeout: timeout as number });
  await expect(stopping).rejects.toThrow(/^timeout takes a finite number/);
});

describe("a process that did not write the record", () => {
  it("is never signalled when it has a dead server's pid", async () => {
    const other = bystander();
    const { directory, path } = await withRecord(recordOf(other.pid!, Date.now() / 1000 - 3600));
    expect(listPidfiles({ prefix: "otter", directory })).toMatchObject([{ pid: other.pid, alive: false }]);
    expect(await stopAll({ prefix: "otter", directory, timeout: 0.2 })).toEqual([
      {
        pid: other.pid,
        port: 5173,
        prefix: "otter",
        signaled: "none",
        stopped: true,
        pidfile_removed: true,
        error: null,
      },
    ]);
    expect(isAlive(other)).toBe(true);
    expect(existsSync(path)).toBe(false);
  });

  it("is never signalled when the claim has another start time", async () => {
    const other = bystander();
    const { directory } = await withRecord(recordOf(other.pid!, Date.now() / 1000));
    const claim = { instance: "gone", pid: other.pid, start: "1", boot: bootId(), pidns: null, host: "here" };
    for (const holder of [claim, { ...claim, boot: "another boot", host: hostname() }]) {
      writeFileSync(join(directory, "otter-5173.claim.1"), JSON.stringify({ ...holder, pidns: pidns() }));
      expect(listPidfiles({ prefix: "otter", directory })).toMatchObject([{ alive: false }]);
    }
    await stopAll({ prefix: "otter", directory, timeout: 0.2 });
    expect(isAlive(other)).toBe(true);
  });

  it("is not signalled when it runs in another container or on another machine", async () => {
    const other = bystander();
    const { directory, path } = await withRecord(recordOf(other.pid!, Date.now() / 1000));
    const holder = { instance: "far", pid: other.pid, start: "1", boot: "far", pidns: "pid:[1]", host: "far" };
    for (const far of [holder, { ...holder, boot: bootId() }]) {
      writeFileSync(join(directory, "otter-5173.claim.1"), JSON.stringify(far));
      expect(await stopAll({ prefix: "otter", directory })).toMatchObject([
        { signaled: "none", stopped: false, pidfile_removed: false, error: "runs_elsewhere" },
      ]);
    }
    expect(isAlive(other)).toBe(true);
    expect(existsSync(path)).toBe(true);
  });

  it("that is the first one of its container is recognized, and never signalled", async () => {
    const { directory, path } = await withRecord(recordOf(1, Date.now() / 1000));
    const start = readFileSync("/proc/1/stat", "latin1").split(") ")[1]?.split(" ")[19];
    const holder = { instance: "init", pid: 1, start, boot: bootId(), pidns: pidns(), host: hostname() };
    writeFileSync(join(directory, "otter-5173.claim.1"), JSON.stringify(holder));
    expect(listPidfiles({ prefix: "otter", directory })).toMatchObject([{ pid: 1, alive: true }]);
    expect(await stopAll({ prefix: "otter", directory })).toMatchObject([
      { signaled: "none", stopped: false, pidfile_removed: false, error: "invalid_pid" },
    ]);
    expect(existsSync(path)).toBe(true);
  });

  it.each([0, 1, -1, 1.5, "1", null, 2 ** 53])("a pid of %j is refused", async (pid) => {
    const { directory, path } = await withRecord({ ...recordOf(1, Date.now() / 1000 + 60), pid });
    expect(listPidfiles({ prefix: "otter", directory })).toMatchObject([{ alive: false }]);
    expect(await stopAll({ prefix: "otter", directory })).toMatchObject([{ signaled: "none", error: "invalid_pid" }]);
    expect(existsSync(path)).toBe(false);
  });

  it.each(["", "{", "[]", "null", "\0\0\0", '{"pid":'])("a record of %j is stale, and reaped", async (text) => {
    const { directory, path } = await withRecord(text);
    expect(listPidfiles({ prefix: "otter", directory })).toMatchObject([{ pid: 0, port: 5173, alive: false }]);
    expect(await stopAll({ prefix: "otter", directory })).toMatchObject([{ stopped: true, pidfile_removed: true }]);
    expect(existsSync(path)).toBe(false);
  });

  it("a directory in the record's place causes no error", async () => {
    const directory = await makeHome();
    mkdirSync(join(directory, "otter-5173.pid"));
    expect(await stopAll({ prefix: "otter", directory })).toMatchObject([{ pid: 0, pidfile_removed: false }]);
  });
});

describe("stopping", () => {
  it("ends the process of a record that another program wrote", async () => {
    const other = bystander();
    const ended = new Promise((resolve) => other.once("exit", (_, signal) => resolve(signal)));
    const { directory } = await withRecord(recordOf(other.pid!, Date.now() / 1000));
    expect(await stopAll({ prefix: "otter", directory, port: 5173 })).toMatchObject([
      { signaled: "sigterm", stopped: true, pidfile_removed: true },
    ]);
    expect(await ended).toBe("SIGTERM");
  });
});

const hostname = () => readFileSync("/proc/sys/kernel/hostname", "utf8").trim();
const bootId = () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
const pidns = () => readlinkSync("/proc/self/ns/pid");
