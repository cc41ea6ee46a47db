/** `serve`: ACP on stdio, HTTP on a port, or both on the same sessions, until the peer goes or a signal comes. */
import type { Trace } from "@chimera/agent";
import type { Invocation } from "../command/command.js";
import { isUsageError } from "../command/usage-error.js";
import type { ConfigValues } from "../config/keys.js";
import { type Config, readConfig } from "../config/read-config.js";
import { isHostError } from "../errors.js";
import { hideSecrets } from "../hide-secrets.js";
import { lazily } from "../lazily.js";
import type { Log } from "../log/log.js";
import { openLog } from "../log/log-file.js";
import { requireNamed, startExtensions } from "../open-core.js";
import { resolvePaths } from "../paths.js";
import { envName, type StartedExtension } from "../profile.js";
import { startAcp } from "./acp.js";
import { type HttpServing, listenHttp, logRequests } from "./http.js";
import { type HttpAccess, makeToken, readHttpAccess } from "./http-access.js";
import { HTTP_FLAGS, readServeSettings, type ServeSettings } from "./settings.js";
import { createTurnOwners, endChildren, untilEnd } from "./until-end.js";

/** What has not ended by then is left behind. */
const STOP_MS = 9000;

/** @param defaults what the command that serves would rather have where nobody said anything. */
export async function serve(invocation: Invocation, defaults: Partial<ConfigValues> = {}): Promise<number> {
  const { profile, flags, process } = invocation;
  const isHidden = hideSecrets(invocation);
  const config = readConfig(invocation, defaults);
  const settings = readServeSettings(profile, flags, config);
  if (!settings.http) warnOfIdleFlags(invocation);
  await requireNamed(config);
  const made = makeToken();
  const asked = settings.http ? readHttpAccess(invocation, config, made) : null;
  const log = openLog(invocation, config.values, [asked?.authToken ?? made]);
  if (!isHidden) log.debug("commands of this user can read the secrets that this program was started with");
  for (const problem of config.problems) log.warn(problem);
  const extensions = await startExtensions(invocation, config, log);
  const access = asked && requireToken(invocation, asked, extensions, made);
  const owners = createTurnOwners();
  const core = lazyCore(invocation, config, extensions, log, owners.trace);
  const stopped = untilEnd(process, log, owners);
  const ends = [stopped];
  const transports: Close[] = [];
  let drain: () => Promise<void> = async () => {};

  if (access) {
    const http = await Promise.race([startHttp(invocation, settings, access, core, extensions, log), stopped]);
    if (typeof http === "number") return ended(invocation, core.close, http, log);
    transports.push(http.close);
    const drainMs = config.values.drain_timeout * 1000;
    if (drainMs > 0) drain = () => http.drain(drainMs);
    ends.push(failureOf(http.ready, log));
  }
  if (settings.acp) {
    const { cwd, forced, historyLimit } = settings;
    const acp = startAcp({ profile, core: core.get, extensions, cwd, forced, historyLimit, log });
    ends.push(acp.closed.then(() => 0));
    transports.push(() => acp.close());
  }
  const code = await Promise.race(ends);
  // A fault does not wait for anybody.
  if (code === 0) await drain();
  // Nothing new comes in; turns are cancelled and their ends journaled; streams deliver those and end.
  return ended(invocation, () => Promise.all([...transports, core.close].map((close) => close())), code, log);
}

// --- internal ---

/** An extension may want requests to carry a token where the user set none. */
function requireToken(
  { profile, process }: Invocation,
  access: HttpAccess,
  extensions: readonly StartedExtension[],
  made: string,
): HttpAccess {
  const why = access.authToken === undefined && extensions.map(({ needsToken }) => needsToken).find(Boolean);
  if (!why) return access;
  process.stderr.write(`[${profile.name}] ${why}\n`);
  return { ...access, authToken: made, isTokenMade: true };
}

/** A person who names a port expects a server on it. */
function warnOfIdleFlags({ profile, flags, process }: Invocation): void {
  const idle = Object.keys(HTTP_FLAGS).filter((name) => flags[name] !== undefined);
  if (idle.length === 0) return;
  const named = idle.map((name) => `--${name}`).join(", ");
  process.stderr.write(`[${profile.name}] no effect without --http, as nothing listens then: ${named}\n`);
}

type Close = () => Promise<unknown>;

/** Closes within the time there is, and gives the exit code. */
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

type LazyCore = ReturnType<typeof lazyCore>;

function lazyCore(
  { profile, process }: Invocation,
  config: Config,
  extensions: readonly StartedExtension[],
  log: Log,
  trace: Trace,
) {
  const core = lazily(async () => {
    const { createCore } = await import("../compose.js");
    return createCore({ profile, env: process.env, config, extensions, log, trace });
  });
  return { get: core.get, close: async () => (await core.opened())?.close() };
}

/** Says where it listens, or why it does not: then the exit code. */
async function startHttp(
  { profile, calledAs, where, process }: Invocation,
  settings: ServeSettings,
  access: HttpAccess,
  core: LazyCore,
  extensions: readonly StartedExtension[],
  log: Log,
): Promise<(Pick<HttpServing, "ready" | "drain"> & { readonly close: Close }) | number> {
  const { name } = profile;
  const { host, port } = settings;
  const { authToken, isTokenMade, tls } = access;
  const scheme = tls ? "https" : "http";
  const about = { prefix: name, host, port, scheme, keepsToken: isTokenMade, ...(authToken && { authToken }) } as const;
  try {
    const { refuseSecond, takePort } = await import("../pidfile.js");
    // Checked again when the port is bound; here it saves the loading.
    if (port !== 0) refuseSecond(about);
    const sharesDirectory = resolvePaths(process.env).shares;
    const shareUrl = process.env[envName(profile, "SHARE_URL")];
    const bind = () =>
      listenHttp({ profile, settings, access, core: core.get, extensions, log, sharesDirectory, shareUrl });
    const { bound, pidfile } = await takePort(bind, about, log);
    if (settings.logsRequests) logRequests(bound.server, log);
    if (isTokenMade && pidfile) process.stderr.write(`[${name}] requests carry the token in ${pidfile.tokenPath}\n`);
    process.stderr.write(
      `[${name}] HTTP server listening on ${bound.url} (stop it with Ctrl-C or ${calledAs} serve stop --port ${bound.port})\n`,
    );
    return {
      ready: bound.ready,
      drain: bound.drain,
      close: async () => {
        pidfile?.remove();
        await bound.close();
      },
    };
  } catch (error) {
    if (isUsageError(error)) throw error;
    process.stderr.write(`${whyNot(name, where, settings, error)}\n`);
    return isHostError(error) ? 2 : 1;
  }
}

/** Settles only when the work fails: then with the exit code. */
function failureOf(work: Promise<unknown>, log: Log): Promise<number> {
  return new Promise((resolve) => {
    work.catch((error) => {
      log.error("cannot serve", { error });
      resolve(1);
    });
  });
}

function whyNot(program: string, where: string, { host, port }: ServeSettings, error: unknown): string {
  if (isHostError(error)) {
    return `ERROR: ${program} serve ${error.message}. Stop it first or use a different --port.`;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  const reason =
    code === "EADDRINUSE" ? `another program has port ${port}; choose another with --port <port>` : message;
  return `${where}: cannot listen on ${host}:${port}: ${reason}`;
}
