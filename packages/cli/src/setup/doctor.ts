/** `doctor`: checks the setup and gives a remedy for each problem; with `--server` also people, the certificate and running servers. */

import { X509Certificate } from "node:crypto";
import { access, constants, readFile, stat, statfs } from "node:fs/promises";
import { get as httpGet } from "node:http";
import { get as httpsGet } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { loadAgents } from "@chimera/agent/agents";
import { loadMcpConfig } from "@chimera/agent/mcp";
import { keyRefusal } from "@chimera/agent/models";
import { findPackage, installCommand, listProviders, modelAddress, packagedModel } from "@chimera/agent/providers";
import { type Invocation, isDatabase, readConfig, resolvePaths } from "@chimera/host";
import { fileList, parsePeople } from "@chimera/host/people";
import { addressOf, runningServers } from "@chimera/host/pidfile";
import { createSandbox } from "@chimera/sandbox";
import { isSet } from "../flags.js";
import { printJson, printLines, styleFor } from "../output.js";
import { withStore } from "../store.js";
import type { Style } from "../terminal/style.js";
import { count, plain } from "../terminal/text.js";
import { verifyKeptAudit } from "./access.js";

export interface Finding {
  readonly state: "ok" | "warn" | "fail";
  readonly found: string;
  readonly remedy?: string;
}

type Check = (invocation: Invocation) => Promise<Finding>;

const ok = (found: string): Finding => ({ state: "ok", found });
const warn = (found: string, remedy: string): Finding => ({ state: "warn", found, remedy });
const fail = (found: string, remedy: string): Finding => ({ state: "fail", found, remedy });

export async function examine(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const findings: (Finding & { readonly check: string })[] = [];
  const checks = { ...CHECKS, ...(isSet(flags, "server") && SERVER_CHECKS) };
  for (const [check, look] of Object.entries(checks)) {
    const found = await look(invocation).catch((error: Error): Finding => {
      // Most checks read the configuration: what is wrong with it is said once.
      const first = findings.find((one) => one.found === error.message);
      return first ? warn("not checked", `correct ${first.check} first`) : { state: "fail", found: error.message };
    });
    findings.push({ check, ...found });
  }
  if (isSet(flags, "json")) printJson(invocation, findings);
  else {
    const style = styleFor(invocation);
    const width = Math.max(...findings.map(({ check }) => check.length));
    for (const { check, ...found } of findings)
      printLines(invocation, describeFinding(check.padEnd(width), found, style));
  }
  return findings.some(({ state }) => state === "fail") ? 1 : 0;
}

/** A line for the result of a check, and a line for its remedy. */
export function describeFinding(check: string, { state, found, remedy }: Finding, style: Style): string[] {
  const line = `${marksOf(style)[state]} ${check}  ${plain(found)}`;
  return remedy ? [line, `${" ".repeat(check.length + 4)}${style.dim(`-> ${plain(remedy)}`)}`] : [line];
}

/** Checks that there is a model and a key for it. @param asks whether to ask the provider if it accepts the key */
export async function checkKeys(invocation: Invocation, asks = false): Promise<Finding> {
  const { profile, process } = invocation;
  const { values } = readConfig(invocation);
  try {
    const packaged = packagedModel(values.model ?? "", values.providers);
    const { provider, model } = packaged ?? modelAddress(values.model ?? "", process.env, profile.chain);
    const others = listProviders(process.env).filter(({ name, configured }) => configured && name !== provider);
    const refusal = asks && !packaged ? await keyRefusal(model, { env: process.env, chain: profile.chain }) : null;
    if (refusal !== null) return fail(refusal, `set the key, then ${invocation.calledAs} doctor`);
    if (provider !== "offline") return ok(`${model} at ${provider}, ${others.length} more configured`);
    const remedy = `set one of ${profile.chain.map(({ env }) => env).join(", ")}, or run Ollama and choose one of its models`;
    return warn("no model key is set: the offline interpreter answers", remedy);
  } catch (error) {
    return fail((error as Error).message, "set the key it names, or choose another --model");
  }
}

// --- internal ---

function marksOf(style: Style): Readonly<Record<Finding["state"], string>> {
  return { ok: style.green("✓"), warn: style.yellow("!"), fail: style.red("✗") };
}

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const LITTLE_SPACE = GIB;
const NO_SPACE = 100 * MIB;

/** Name of a check -> the check. */
const CHECKS: Readonly<Record<string, Check>> = {
  node: async ({ process }) => ok(`${process.version} on ${process.platform} ${process.arch}`),
  config: checkConfig,
  trust: checkTrust,
  keys: (invocation) => checkKeys(invocation),
  providers: checkProviders,
  data: checkData,
  store: checkStore,
  disk: checkDisk,
  port: checkPort,
  sandbox: checkSandbox,
  audit: checkAudit,
};

const SOON_DAYS = 14;
const DAY_MS = 86_400_000;

/** Additional checks of `--server`: whether people can sign in safely, and whether running servers accept work. */
const SERVER_CHECKS: Readonly<Record<string, Check>> = {
  async people(invocation) {
    const { paths, values } = readConfig(invocation);
    if (isDatabase(values.store)) return ok("in the database: token list shows them");
    const found = await stat(paths.people).catch(() => null);
    const people = parsePeople(await fileList(paths.people).read());
    if (!found || people.length === 0) return warn("no person has a token", "token add <name>");
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0) {
      return fail(`others can read ${paths.people}`, `chmod 600 ${paths.people}`);
    }
    return ok(people.map(({ name, role }) => `${name} (${role})`).join(", "));
  },

  async certificate(invocation) {
    const { tls_cert: file } = readConfig(invocation).values;
    if (file === null) return ok("none: a proxy ends TLS, or only this machine calls");
    const days = Math.floor((Date.parse(new X509Certificate(await readFile(file)).validTo) - Date.now()) / DAY_MS);
    const said = days < 0 ? `${file} ended ${-days} days ago` : `${file} ends in ${days} days`;
    if (days >= SOON_DAYS) return ok(said);
    return (days < 0 ? fail : warn)(said, "renew it, then send the server SIGHUP");
  },

  async servers({ profile, process, calledAs }) {
    const running = runningServers(profile.name, resolvePaths(process.env).run);
    if (running.length === 0) return warn("none runs here", `${calledAs} serve`);
    const asked = running.map(async (entry) => {
      const { port, auth_token_hash } = entry;
      const status = await readinessOf(addressOf(entry));
      return {
        text: `port ${port} ${status}${auth_token_hash === null ? ", without a token" : ""}`,
        isReady: status === "accepts work",
      };
    });
    const answers = await Promise.all(asked);
    const found = answers.map(({ text }) => text).join("; ");
    return answers.every(({ isReady }) => isReady) ? ok(found) : fail(found, "read its log");
  },
};

/** The address is from a record that this user's own server wrote, so its certificate need not name this machine. */
function readinessOf(url: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { rejectUnauthorized: false, signal: AbortSignal.timeout(3000) };
    const get = url.startsWith("https:") ? httpsGet : httpGet;
    get(`${url}/readyz`, options, (response) => {
      response.destroy();
      resolve(response.statusCode === 200 ? "accepts work" : "accepts no work");
    }).once("error", () => resolve("does not answer"));
  });
}

async function checkConfig(invocation: Invocation): Promise<Finding> {
  const { problems, settings } = readConfig(invocation);
  const [first] = problems;
  if (first) return warn(problems.join("; "), "remove or correct these keys");
  const changed = settings.filter(({ layer }) => layer !== "default").length;
  return ok(changed === 0 ? "all defaults" : `${changed} of ${settings.length} settings changed`);
}

/** Checks whether the files of this directory ask for anything that needs trust. */
async function checkTrust(invocation: Invocation): Promise<Finding> {
  const { cwd, trust, paths, untrusted } = readConfig(invocation);
  if (trust.isTrusted(cwd)) return ok(`${cwd} is trusted; ${paths.trusted} lists what is`);
  const [agents, mcp] = await Promise.all([
    loadAgents({ home: paths.home, cwd, trusted: false }),
    loadMcpConfig({ home: paths.home, cwd }),
  ]);
  const left = [...untrusted, ...agents.untrusted, ...mcp.untrusted];
  if (left.length === 0) return ok(`${cwd} asks for nothing that needs trust`);
  const found = `${cwd} is not trusted: ${left.join("; ")} left out`;
  return warn(found, `${invocation.calledAs} --trust, or /trust in a session there`);
}

/** Checks that the packages of the person's own providers are installed. */
async function checkProviders(invocation: Invocation): Promise<Finding> {
  const { values, paths } = readConfig(invocation);
  const rows = Object.entries(values.providers);
  if (rows.length === 0) return ok("the built-in ones");
  const looked = await Promise.all(
    rows.map(async ([name, { package: spec }]) => ({ name, spec, found: await findPackage(spec, paths.root) })),
  );
  const found = looked
    .map(({ name, spec, found }) => `${name}: ${spec} ${found ? found.version : "is not installed"}`.trim())
    .join("; ");
  const missing = looked.filter((one) => !one.found).map(({ spec }) => installCommand(spec, paths.root));
  return missing.length === 0 ? ok(found) : warn(found, missing.join("; "));
}

async function checkData({ process }: Invocation): Promise<Finding> {
  const { root } = resolvePaths(process.env);
  const found = await stat(root).catch(() => null);
  if (!found) {
    const parent = await existing(dirname(root));
    await access(parent, constants.W_OK);
    return ok(`${root} will be created`);
  }
  if (!found.isDirectory()) return fail(`${root} is not a directory`, "move it away");
  const writable = await access(root, constants.W_OK | constants.R_OK).then(
    () => true,
    () => false,
  );
  if (!writable) return fail(`${root} cannot be written`, `chown or chmod ${root}`);
  if (process.platform !== "win32" && (found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8);
    return warn(`${root} has mode ${mode}: other users can read it`, `chmod 700 ${root}`);
  }
  return ok(root);
}

function checkStore(invocation: Invocation): Promise<Finding> {
  return withStore(invocation, async ({ store, shared, pathOf }) => {
    const place = pathOf("").replace(/\/$/, "");
    if (shared === null) return ok(`files in ${place}`);
    const started = performance.now();
    await store.list({ limit: 1 });
    const ms = Math.round(performance.now() - started);
    const found = `PostgreSQL ${shared.server.version} at ${place}, answers in ${ms} ms`;
    if (shared.server.hasSynchronousStandby) return ok(`${found}, with a synchronous standby`);
    const remedy = "set synchronous_standby_names, or keep backups: when this disk dies, acknowledged records are lost";
    return warn(`${found}, without a synchronous standby`, remedy);
  });
}

async function checkDisk({ process }: Invocation): Promise<Finding> {
  const { bavail, bsize } = await statfs(await existing(resolvePaths(process.env).root));
  const free = bavail * bsize;
  const found = `${free < 10 * GIB ? `${Math.floor(free / MIB)} MiB` : `${Math.floor(free / GIB)} GiB`} free`;
  if (free >= LITTLE_SPACE) return ok(found);
  return (free < NO_SPACE ? fail : warn)(found, "free some space, or move CHIMERA_HOME");
}

async function checkPort(invocation: Invocation): Promise<Finding> {
  const { port, host } = readConfig(invocation).values;
  const code = await new Promise<string | null>((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
  if (code === null) return ok(`${host}:${port} is free`);
  return warn(
    `${host}:${port} cannot be bound (${code})`,
    `${invocation.calledAs} serve status lists the servers it knows; --port chooses another port`,
  );
}

async function checkSandbox({ process }: Invocation): Promise<Finding> {
  const sandbox = createSandbox({
    mode: "read-only",
    osSandbox: "auto",
    workspace: { cwd: process.cwd() },
    stateDir: resolvePaths(process.env).root,
    env: process.env,
    log: () => {},
  });
  const probed = await sandbox.probe();
  if (probed.available) return ok(`${probed.backend} ${probed.version}`);
  return warn(
    probed.error.message,
    process.platform === "linux" ? "install bubblewrap or allow user namespaces" : "see the sandbox's README",
  );
}

async function checkAudit(invocation: Invocation): Promise<Finding> {
  const { ok: isIntact, entries, problems } = await verifyKeptAudit(invocation);
  if (isIntact) return ok(`${count(entries, "decision")}, intact`);
  return fail(`${problems.length} problems in the audit log`, "audit verify lists them");
}

/** The path itself, or its nearest parent that exists. */
async function existing(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  if (found) return path;
  const parent = dirname(path);
  return parent === path ? tmpdir() : existing(parent);
}
