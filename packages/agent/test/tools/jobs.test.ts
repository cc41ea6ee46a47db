import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { expect, onTestFinished, test } from "vitest";
import { createBashTool, createJobs, jobInputTool, jobTool } from "../../src/tools/index.js";
import { bench } from "./bench.js";

async function setUp() {
  const place = await bench();
  const events: AgentEvent[] = [];
  const jobs = createJobs((event) => void events.push(event));
  onTestFinished(() => jobs.close());
  const bash = createBashTool({ env: { PATH: process.env["PATH"] }, patience: 300 });
  const run = (command: string, more: object = {}) => place.run(bash, { command, ...more }, { jobs });
  const job = (input: object) => place.run(jobTool, { ...input }, { jobs });
  return { cwd: place.cwd, use: place.run, jobs, events, run, job };
}

/** A zombie process has no command line. */
const alive = (pid: number) => existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, "latin1") !== "";

/** Prints a server's answer; fails when there is none. */
const get = (port: string | undefined) =>
  `node -e "fetch('http://127.0.0.1:${port}').then((r) => r.text()).then((t) => process.stdout.write(t))"`;

test("a server in the background answers the next call, and can be read, listed and stopped", async () => {
  const { run, job, events } = await setUp();
  const server =
    "require('http').createServer((_, r) => r.end('hello')).listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
  const started = await run(`node -e "${server}"`, { background: true });
  expect(started).toMatchObject({ success: true, output: expect.stringContaining("job-0.1") });
  let output = started.output;
  for (let n = 0; n < 50 && !/\d{4,5}/.test(output); n++) output += (await job({ id: "job-0.1", wait: 0.2 })).output;
  const port = /\d{4,5}/.exec(output)?.[0];
  // With its own time limit, because a busy machine may start it so slowly that it would become a job.
  expect((await run(get(port), { timeout: 60 })).output).toBe("hello");
  expect((await job({})).output).toContain("job-0.1 (running)");
  expect((await job({ id: "job-0.1", stop: true })).output).toContain("[job-0.1: stopped]");
  expect((await run(get(port), { timeout: 60 })).success).toBe(false);
  expect(events.map(({ type }) => type).filter((type) => type !== "job_output")).toEqual(["job_started", "job_ended"]);
});

test("a long command becomes a job automatically; with a time limit it is ended", async () => {
  const { run, job, events } = await setUp();
  expect((await run("echo one; sleep 1; echo two")).output).toMatch(/^one\n\n?\[It goes on as job-0\.1/);
  expect((await job({ id: "job-0.1", wait: 5 })).output).toBe("two\n\n[job-0.1: exit code 0]");
  expect(events).toContainEqual({
    type: "job_output",
    metadata: { job_id: "job-0.1", stream: "stdout", chunk: "two\n" },
  });
  expect(await run("sleep 5", { timeout: 0.3 })).toMatchObject({ success: false, error: "Timed out after 0.3 s" });
});

test("a job runs none of the person's start-up files, although its input is a socket", async () => {
  const place = await bench();
  writeFileSync(join(place.cwd, ".bashrc"), "echo started up\n");
  const jobs = createJobs(() => {});
  onTestFinished(() => jobs.close());
  const bash = createBashTool({ env: { PATH: process.env["PATH"], HOME: place.cwd } });
  const seen = await place.run(bash, { command: "echo begun", background: true }, { jobs });
  expect(seen.output).toBe("begun\n");
});

test("input reaches a job, and a job without input reports so", async () => {
  const { run, job, jobs, use } = await setUp();
  await run("read -r line; echo got $line", { background: true });
  const write = (id: string) => use(jobInputTool, { id, text: "this\n" }, { jobs });
  expect((await write("job-0.1")).success).toBe(true);
  expect((await job({ id: "job-0.1", wait: 5 })).output).toContain("got this");
  expect((await write("job-0.1")).error).toContain("takes no input");
  expect((await write("job-9.9")).error).toBe("There is no job job-9.9.");
});

test("processes that a job starts end with the session, even in a process session of their own", {
  tags: ["needs-linux", "needs-setsid"],
}, async () => {
  const { run, jobs } = await setUp();
  const { output } = await run("setsid nohup sleep 300 & echo $!; wait", { background: true });
  const pid = Number(/\d+/.exec(output)?.[0]);
  expect(alive(pid)).toBe(true);
  await jobs.close();
  for (let n = 0; n < 50 && alive(pid); n++) await pause(20);
  expect(alive(pid)).toBe(false);
});

test("undo covers a job's changes in a later turn, and the number of jobs is limited", async () => {
  const { run, jobs, cwd } = await setUp();
  const begun: string[] = [];
  await run("sleep 30", { background: true });
  await jobs.cover(1, {
    willRun: async (command) => {
      begun.push(command);
      return async () => [];
    },
  });
  expect(begun).toEqual(["sleep 30"]);
  await Promise.all(Array.from({ length: 15 }, () => run("sleep 30", { background: true })));
  expect(await run("touch late", { background: true })).toMatchObject({ success: false });
  expect(existsSync(join(cwd, "late"))).toBe(false);
});
