/** `-p`: runs one prompt, prints its answer on stdout, and exits with a code for the outcome. It reads the log like every client. */
import type { Metadata } from "@chimera/acp-schema/events";
import { createLanes } from "@chimera/acp-schema/promises";
import { type Invocation, openCore, requireHome, UsageError } from "@chimera/host";
import type { SessionClient } from "../client/client.js";
import { EXIT_DENIED, EXIT_INTERRUPTED } from "../errors.js";
import { openSession, type RunFlags, readRunFlags } from "../open-session.js";
import { createProgress, styleFor } from "../output.js";
import { complain } from "../reported.js";
import { createOutcomeFold, type Outcome, type OutputFormat, parseFormat } from "./outcome.js";
import { hasInput, type PromptFile, pipedInput, promptBlocks, readPromptFiles } from "./prompt-files.js";

export async function print(invocation: Invocation): Promise<number> {
  const { profile, process } = invocation;
  const flags = readRunFlags(invocation);
  const format = parseFormat(flags.outputFormat);
  if (flags.resume === "") throw new UsageError("--resume needs an id with -p");
  const { text, files } = await readPrompt(invocation, flags);
  const content = promptBlocks(text, files);
  const progress = createProgress(process.stderr, "files of the workspace read, once, for undo:");
  const onIndexing = (read: number | null) => (read === null ? progress.end() : progress.update(read));
  const { core, config } = await openCore(invocation, { onIndexing, mcpPatienceMs: MCP_MS });
  try {
    requireHome(config);
    const isAttended = process.stdin.isTTY === true && process.stderr.isTTY === true;
    const choice = { ...flags, cwd: config.cwd, persist: config.values.save };
    const client = await openSession(invocation, core, choice, isAttended);
    if (client.persistent) process.stderr.write(`[${profile.name}] session ${client.id}\n`);
    const { outcome, turn } = await ask(invocation, client, { text, ...(content && { content }) }, format);
    const runId = client.persistent ? client.id : null;
    process.stdout.write(format.result(outcome, { model: client.model ?? "", runId }, turn));
    if (outcome.error && !outcome.cancelled) complain(invocation, outcome.error);
    if (outcome.denied > 0) complain(invocation, deniedLine(outcome.denied, profile.permitFlag));
    if (runId) process.stderr.write(`[${profile.name}] run saved as ${runId} at ${core.pathOf(runId)}/\n`);
    return exitCodeOf(outcome);
  } finally {
    await core.close();
  }
}

// --- internal ---

/** How long to wait for a lost server. A restarted server is back much sooner. */
const LOST_MS = 30_000;

/** There is no later turn, so this one waits until each MCP server is there or has failed, which is sooner. */
const MCP_MS = 60_000;

type PromptOf = Parameters<SessionClient["prompt"]>[0];

function exitCodeOf(outcome: Outcome): number {
  if (outcome.cancelled) return EXIT_INTERRUPTED;
  if (outcome.overBudget) return 2;
  if (!outcome.success) return 1;
  return outcome.denied > 0 ? EXIT_DENIED : 0;
}

function deniedLine(denied: number, permitFlag: string): string {
  const calls = denied === 1 ? "1 call was" : `${denied} calls were`;
  return `${calls} not permitted; ${permitFlag} permits writes and commands, --allowed-tools names the tools there are`;
}

/** Reads the prompt, with piped input as one more file. `-p -` reads the prompt itself from stdin. */
async function readPrompt(
  { process, profile }: Invocation,
  flags: RunFlags,
): Promise<{ text: string; files: PromptFile[] }> {
  const { stdin } = process;
  const warn = (text: string) => void process.stderr.write(`[${profile.name}] ${text}\n`);
  const read = (paths: readonly string[]) => readPromptFiles({ paths, cwd: process.cwd(), stdin, warn });
  if (flags.prompt === "-") {
    const [own] = await read(["-"]);
    const text = own?.text.trim() ?? "";
    if (text === "") throw new UsageError("-p -: stdin is empty");
    return { text, files: await read(flags.files.filter((path) => path !== "-")) };
  }
  const text = flags.prompt ?? "";
  const named = flags.files.includes("-");
  const piped = named ? "none" : pipedInput(stdin);
  const takesStdin = piped === "meant" || (piped === "perhaps" && (await hasInput(stdin)));
  const files = await read(takesStdin ? [...flags.files, "-"] : flags.files);
  const said = files.filter((file) => named || file.path !== "-" || file.text.trim() !== "");
  if (text.trim() === "" && said.length === 0) throw new UsageError("-p takes a prompt: -p 'what to do'");
  return { text, files: said };
}

async function ask(
  invocation: Invocation,
  client: SessionClient,
  prompt: PromptOf,
  format: OutputFormat,
): Promise<{ readonly outcome: Outcome; readonly turn: number }> {
  const { process } = invocation;
  const fold = createOutcomeFold();
  const done = new AbortController();
  let cancelling = false;
  const onInterrupt = () => {
    if (cancelling) process.exit(EXIT_INTERRUPTED);
    cancelling = true;
    void client.cancel();
  };
  // Keep the handlers, so that a second signal while the session closes does not kill the process.
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onInterrupt);
  // Ask one question at a time, so that a key answers the question on the screen.
  const { inLane } = createLanes();
  const asked = (request: Metadata<"permission_request">) => {
    const answer = () => answerAt(invocation, client, request, done.signal);
    inLane("", answer).catch((error: Error) => complain(invocation, error.message));
  };
  const turn = await client.prompt(prompt);
  await client.follow({
    from: client.head,
    signal: done.signal,
    // A script may run unattended, so it ends with an error when its server does not come back.
    patienceMs: LOST_MS,
    onNotice: (text) => complain(invocation, text),
    onRecord: (record) => {
      // Other clients may have turns in the session too.
      if (record.turn !== null && record.turn !== turn) return;
      process.stdout.write(format.record(record));
      if (record.type === "notice" && record.metadata.level !== "info") complain(invocation, record.metadata.text);
      if (record.type === "permission_request") asked(record.metadata);
      // With -p there is no conversation, so let the agent decide itself.
      if (record.type === "question_asked")
        client
          .answerQuestion(record.metadata.question_id, null)
          .catch((error: Error) => complain(invocation, error.message));
      if (fold.apply(record)) done.abort();
    },
  });
  return { outcome: fold.outcome, turn };
}

/** Asks the person at the terminal. Without a terminal the answer is no, which a session of this process gives by itself. */
async function answerAt(
  invocation: Invocation,
  client: SessionClient,
  request: Metadata<"permission_request">,
  signal: AbortSignal,
): Promise<void> {
  const { process } = invocation;
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    if (client.server !== null) await client.answer(request.permission_id, { decision: "deny" });
    return;
  }
  const { askAtTerminal } = await import("./ask.js");
  const style = styleFor(invocation, process.stderr);
  const answer = await askAtTerminal(process, request, style, signal);
  if (answer) await client.answer(request.permission_id, answer, request.shown);
}
