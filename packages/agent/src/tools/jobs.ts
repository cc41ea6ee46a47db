/** Jobs: commands that continue after their call. They belong to a session, whose log records them, and end with it. */
import type { AgentEvent } from "@chimera/acp-schema/events";
import { endOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { within } from "../loop/patience.js";
import type { Job, Jobs, RunningCommand } from "../tool.js";
import { capOutput, defineTool, describeCall, failure } from "./define.js";

const MOST_JOBS = 16;
/** Most characters of unread output. Beyond that the beginning is dropped, because the end matters more. */
const MAX_UNREAD = 1024 * 1024;
/** Most characters of a job's output that are recorded. */
const MAX_RECORDED = 256 * 1024;

/**
 * The commands of one session that go on after their call. Each change becomes an event.
 *
 * @example
 * const jobs = createJobs((event) => memory.emit(event));
 */
export function createJobs(emit: (event: AgentEvent) => void): Jobs {
  const jobs = new Map<string, Job>();
  let turn = 0;
  let count = 0;
  const running = () => [...jobs.values()].filter(({ state }) => state === RUNNING);
  const record = (event: AgentEvent): void => {
    try {
      emit(event);
    } catch {
      // The session handles a log that cannot be written. The error must not end the program here.
    }
  };
  return {
    get isFull() {
      return running().length >= MOST_JOBS;
    },
    get all() {
      return [...jobs.values()];
    },
    adopt(command) {
      count += 1;
      const job = startJob(`job-${turn}.${count}`, command, record);
      // Keep a limited number of ended jobs, so that the model can read them.
      for (const [id, { state }] of jobs) if (jobs.size >= 2 * MOST_JOBS && state !== RUNNING) jobs.delete(id);
      jobs.set(job.id, job);
      return job;
    },
    async cover(number, workspace) {
      turn = number;
      count = 0;
      for (const { command } of running()) await workspace.willRun(command);
    },
    close: async () => void (await Promise.all(running().map((job) => job.stop()))),
  };
}

export const jobTool = defineTool({
  name: "job",
  aliases: ["job_output", "job_kill", "BashOutput", "KillShell"],
  description: "Read what a background command has written since the last time, or stop it. Without an id: list them.",
  input: v.object({
    id: v.optional(v.string()),
    wait: v.optional(
      v.pipe(v.number(), v.minValue(0), v.maxValue(600), v.description("Seconds to wait for its end.")),
      0,
    ),
    stop: v.optional(v.boolean(), false),
  }),
  kind: "read",
  parallel: true,
  describe: ({ id, stop }) =>
    describeCall(id === undefined ? "List jobs" : `${stop ? "Stop" : "Read"} ${id.slice(0, 40)}`),
  run: async ({ id, wait, stop }, context) => {
    const all = context.jobs?.all ?? [];
    const list = all.map((job) => `${job.id} (${job.state}): ${job.command}`).join("\n") || "There are no jobs.";
    if (id === undefined) return { success: true, output: list };
    const job = all.find((one) => one.id === id);
    if (!job) return failure(`There is no job ${id}.\n${list}`);
    if (stop) await job.stop();
    else await job.ended(wait * 1000, context.signal);
    context.signal.throwIfAborted();
    return { success: true, output: await capOutput(`${job.read()}\n[${job.id}: ${job.state}]`, context) };
  },
});

export const jobInputTool = defineTool({
  name: "job_input",
  aliases: ["write_stdin"],
  description: "Write to the input of a background command.",
  input: v.object({
    id: v.string(),
    text: v.pipe(v.string(), v.description("As it is: end a line with a line break.")),
  }),
  kind: "execute",
  parallel: false,
  describe: ({ id }) => describeCall(`Write to ${id.slice(0, 40)}`),
  run: async ({ id, text }, { jobs }) => {
    const job = jobs?.all.find((one) => one.id === id);
    if (!job) return failure(`There is no job ${id}.`);
    if (!job.write(text)) return failure(`${id} takes no input (${job.state}).`);
    return { success: true, output: "Written." };
  },
});

// --- internal ---

const RUNNING = "running";

function startJob(
  id: string,
  { callId, command, group, redirect, settle }: RunningCommand,
  emit: (event: AgentEvent) => void,
): Job {
  const { child } = group;
  let state = RUNNING;
  let unread = "";
  let recorded = 0;
  let isStopped = false;
  redirect((stream, text) => {
    unread = unread.length + text.length > MAX_UNREAD ? `[…]${endOf(unread + text, MAX_UNREAD)}` : unread + text;
    if (recorded >= MAX_RECORDED) return;
    recorded += text.length;
    const chunk = recorded < MAX_RECORDED ? text : `${text}\n[more output is not shown]\n`;
    emit({ type: "job_output", metadata: { job_id: id, stream, chunk } });
  });
  // Ignore the error of writing to a command that has closed its input.
  child.stdin?.on("error", () => {});
  const over = new Promise<void>((resolve) => {
    const finish = async (code: number | null, signal: string | null) => {
      await group.reap();
      await settle(code !== 0).catch(() => {});
      state = isStopped ? "stopped" : code === null ? `ended by ${signal}` : `exit code ${code}`;
      const by = isStopped ? ("stop" as const) : ("itself" as const);
      emit({ type: "job_ended", metadata: { job_id: id, exit_code: code, by } });
      resolve();
    };
    child.once("exit", (code, signal) => void finish(code, signal));
  });
  emit({ type: "job_started", metadata: { job_id: id, call_id: callId, command } });
  return {
    id,
    command,
    get state() {
      return state;
    },
    read() {
      const text = unread;
      unread = "";
      return text;
    },
    write(text) {
      if (state !== RUNNING || !child.stdin?.writable) return false;
      child.stdin.write(text);
      return true;
    },
    ended: (ms, signal) => within(ms, signal, over),
    async stop() {
      isStopped ||= state === RUNNING;
      await group.end();
      await over;
    },
  };
}
