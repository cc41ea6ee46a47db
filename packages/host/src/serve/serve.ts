/** `serve` runs ACP on stdio, HTTP on ports and sockets, or all of them on the same sessions, until the peer leaves or a signal comes. */

import { lazily } from "@chimera/acp-schema/promises";
import type { Trace } from "@chimera/agent";
import type { Invocation } from "../command/command.js";
import type { ConfigValues } from "../config/keys.js";
import { type Config, readConfig } from "../config/read-config.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Log } from "../log/log.js";
import { openLog } from "../log/log-file.js";
import { answersOf, requireHome, requireNamed, startExtensions, warnOf } from "../open-core.js";
import type { StartedExtension } from "../profile.js";
import { acpServer, startAcp } from "./acp.js";
import { HTTP_FLAGS, readServeSettings } from "./settings.js";
import { createTurnOwners, endChildren, untilEnd } from "./until-end.js";

/** How long to wait for everything to close before the process kills its children and ends. */
const STOP_MS = 9000;
/** The first descriptor after stdin, stdout and stderr. */
const FIRST_SOCKET = 3;

/** @param defaults of the command, for settings without any other value. */
export async function serve(invocation: Invocation, defaults: Partial<ConfigValues> = {}): Promise<number> {
  const { profile, flags, process } = invocation;
  const config = readConfig(invocation, defaults);
  const settings = await readServeSettings(profile, flags, config, takeSocket(process));
  if (settings.http.length === 0) warnOfIdleFlags(invocation);
  await requireNamed(config);
  requireHome(config);
  // With HTTP, hide secrets before it removes its token from the environment. Over stdio, hiding them with the core is early enough.
  let isHidden = settings.http.length > 0 ? hideSecrets(invocation) : null;
  // Loaded only when HTTP is served.
  const http = settings.http.length > 0 ? await import("./http.js") : null;
  const made = http?.makeToken() ?? "";
  const asked = http?.readHttpAccess(invocation, config, made, settings.http);
  const log = openLog(invocation, config.values, [asked?.authToken ?? made]);
  warnOf(invocation, config.problems, log);
  const extensions = startExtensions(invocation, config, log);
  const owners = createTurnOwners();
  const core = lazyCore(invocation, config, extensions, log, owners.trace, () => {
    isHidden ??= hideSecrets(invocation);
    if (!isHidden) log.debug("commands of this user can read the secrets that this program was started with");
  });
  let reload: (() => Promise<void>) | null = null;
  const stopped = untilEnd(process, log, owners, () => reload);
  const ends = [stopped];
  let closeCore: Close = core.close;
  let closeHttp: Close | undefined;
  let drain: () => Promise<void> = async () => {};

  if (http && asked) {
    const access = http.requireToken(invocation, asked, extensions, made);
    const parts = { settings, access, core: core.get, acpServer, extensions, log };
    const serving = await Promise.race([http.startHttp(invocation, parts), stopped]);
    if (typeof serving === "number") return ended(invocation, core.close, serving, log);
    closeHttp = serving.close;
    const reread = async () => {
      log.reopen();
      await serving.reload();
    };
    reload = isService(settings.acp, process) ? reread : null;
    drain = () => serving.drain(config.values.drain_timeout * 1000);
    ends.push(failureOf(serving.ready, log));
  }
  if (settings.acp) {
    const { cwd, dialect, historyLimit } = settings;
    const acp = startAcp({ profile, core: core.get, extensions, cwd, dialect, historyLimit, log });
    ends.push(acp.closed.then(() => 0));
    // The turns end first, so that the client's prompts are answered with how they ended.
    closeCore = () => core.close().finally(acp.close);
  }
  const code = await Promise.race(ends);
  // After a fault, the process does not wait for turns.
  if (code === 0) await drain();
  // From here on nothing is accepted: turns are cancelled and their ends recorded, and streams deliver those and end.
  return ended(invocation, () => Promise.all([closeHttp?.(), closeCore()]), code, log);
}

// --- internal ---

/** The first socket that a service manager passed to this process (systemd's protocol). The variables are removed for its children. */
function takeSocket({ env, pid }: NodeJS.Process): number | undefined {
  const isOurs = env["LISTEN_PID"] === String(pid) && Number(env["LISTEN_FDS"]) >= 1;
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete env[name];
  return isOurs ? FIRST_SOCKET : undefined;
}

/** True when neither an editor nor a terminal started the process, so that a hang-up means reload. Asked early, while a terminal is still there. */
function isService(acp: boolean, { stdin, stdout, stderr }: NodeJS.Process): boolean {
  return !acp && ![stdin, stdout, stderr].some(({ isTTY }) => isTTY);
}

/** Warns about flags of the HTTP server when none is started: a person who names a port expects a server on it. */
function warnOfIdleFlags({ profile, flags, process }: Invocation): void {
  const idle = Object.keys(HTTP_FLAGS).filter((name) => flags[name] !== undefined);
  if (idle.length === 0) return;
  const named = idle.map((name) => `--${name}`).join(", ");
  process.stderr.write(`[${profile.name}] no effect without --http, as nothing listens then: ${named}\n`);
}

type Close = () => Promise<unknown>;

/** Closes within the time limit and returns the exit code. */
async function ended({ process }: Invocation, close: Close, code: number, log: Log): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, STOP_MS, new Error(`not closed within ${STOP_MS / 1000} s`));
  });
  try {
    await Promise.race([close(), late]);
    return code;
  } catch (error) {
    log.error("not everything was closed", { error });
    endChildren(process);
    return code || 1;
  } finally {
    clearTimeout(timer);
  }
}

function lazyCore(
  { profile, process }: Invocation,
  config: Config,
  extensions: readonly StartedExtension[],
  log: Log,
  trace: Trace,
  beforeOpen: () => void,
) {
  const core = lazily(async () => {
    beforeOpen();
    const { createCore } = await import("../compose.js");
    const answerAlone = answersOf({ profile, extensions, cwd: config.cwd, log });
    return createCore({ profile, env: process.env, config, extensions, log, answerAlone, trace });
  });
  return { get: core.get, close: async () => (await core.opened())?.close() };
}

/** Resolves with the exit code when the work fails; otherwise it never settles. */
function failureOf(work: Promise<unknown>, log: Log): Promise<number> {
  return new Promise((resolve) => {
    work.catch((error) => {
      log.error("cannot serve", { error });
      resolve(1);
    });
  });
}
