// The programs as a person installs them, `npm install -g`, driven as their users drive them: an editor with the official SDK's
// client, a script over HTTP.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { client, ndJsonStream } from "@agentclientprotocol/sdk";
import { mapConcurrently, run } from "../run.mjs";

const windows = process.platform === "win32";

/** How each program of `apps` is served: the words after its name. */
const SERVED = {
  otter: [
    { over: http, args: ["serve", "--port", "0"] },
    { over: acp, args: ["serve", "--acp"] },
  ],
  ferret: [{ over: acp, args: ["serve"] }],
  chimera: [
    { over: http, args: ["otter", "serve", "--port", "0"] },
    { over: acp, args: ["otter", "serve", "--acp"] },
    { over: acp, args: ["ferret", "serve"] },
  ],
};

/**
 * @param {{ owner: import("../workspace.mjs").Package, tarball: string }[]} tarballs
 * @param {string} home an empty directory
 * @returns {Promise<string[]>} what is wrong
 */
export async function usePrograms(tarballs, home) {
  const programs = tarballs.flatMap(({ owner, tarball }) => namesOf(owner).map((name) => ({ owner, tarball, name })));
  if (programs.length === 0) return [];
  const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", join(home, "global")];
  const files = new Set(programs.map(({ tarball }) => tarball));
  const { code, output } = await run("npm", ["install", "-g", ...flags, ...files], { shell: windows });
  if (code !== 0) return [`the programs do not install: ${output.trim()}`];
  const folder = join(home, "global", windows ? "" : "bin");
  const uses = programs.flatMap(({ owner, name }) => {
    if (!owner.dir.startsWith("apps/")) return [];
    const problem = (said) => [`${owner.dir} installed: \`${name}\` ${said}`];
    if (!(name in SERVED)) return [async () => problem("is served nobody knows how: say it in SERVED")];
    return SERVED[name].map(({ over, args }) => async () => {
      const failure = await over(pathOf(folder, name), args, home);
      return failure ? problem(`${args.join(" ")}: ${failure}`) : [];
    });
  });
  const owners = tarballs.map(({ owner }) => owner);
  const problems = await mapConcurrently(uses, 2, (use) => use());
  return [...(await tellVersions(owners, folder)), ...problems.flat()];
}

/** Whether every program of the packages, installed in `folder`, starts and tells its version. */
export async function tellVersions(owners, folder) {
  const programs = owners.flatMap((owner) => namesOf(owner).map((name) => ({ owner, name })));
  const problems = await mapConcurrently(programs, 2, async ({ owner, name }) => {
    const options = { shell: windows, timeout: 60_000 };
    const { code, output } = await run(pathOf(folder, name), ["--version"], options);
    if (code === 0 && output.includes(owner.manifest.version)) return [];
    return [`${owner.dir} installed: \`${name} --version\` ended with ${code} and said ${JSON.stringify(output)}`];
  });
  return problems.flat();
}

// --- internal ---

const namesOf = (owner) => Object.keys(owner.manifest.bin ?? {});
const pathOf = (folder, name) => join(folder, windows ? `${name}.cmd` : name);

const PROMPT = "list files and read README.md";
const WORKSPACE_TEXT = "A workspace to read";

/** `use` has the program for a minute; whatever happens, it is gone afterwards. What is wrong with its end, if anything. */
async function withProgram(path, args, home, use) {
  mkdirSync(home, { recursive: true });
  const cwd = mkdtempSync(join(home, "workspace-"));
  writeFileSync(join(cwd, "README.md"), `# ${WORKSPACE_TEXT}\n`);
  const env = { PATH: process.env.PATH, HOME: cwd, CHIMERA_HOME: mkdtempSync(join(home, "data-")) };
  const child = spawn(path, args, { cwd, env, shell: windows });
  const said = { stderr: "" };
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said.stderr += text;
  });
  child.stdin.on("error", () => {});
  const overdue = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const ended = once(child, "close");
  try {
    await Promise.race([use(child, said, cwd), ended.then(() => Promise.reject(new Error("ended too early")))]);
    const [code] = await ended;
    return code === 0 ? undefined : `ended with ${code} and said ${JSON.stringify(said.stderr)}`;
  } catch (error) {
    return `${error.message}; it said ${JSON.stringify(said.stderr)}`;
  } finally {
    clearTimeout(overdue);
    if (child.exitCode === null) child.kill("SIGKILL");
  }
}

/** An editor: hello, a session, a prompt that reads a file, and goodbye by closing the stream. */
function acp(path, args, home) {
  return withProgram(path, args, home, async (child, _said, cwd) => {
    const updates = [];
    const { agent } = client()
      .onNotification("session/update", ({ params }) => void updates.push(params.update))
      .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
    await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] });
    const prompt = [{ type: "text", text: PROMPT }];
    const { stopReason } = await agent.request("session/prompt", { sessionId, prompt });
    if (stopReason !== "end_turn") throw new Error(`stopped with ${stopReason}`);
    if (!JSON.stringify(updates).includes(WORKSPACE_TEXT)) throw new Error("did not read the file");
    child.stdin.end();
  });
}

/** A script: health, a session with a prompt, its events to the end, and a signal to leave. */
function http(path, args, home) {
  return withProgram(path, args, home, async (child, said) => {
    const listening = () => /https?:\/\/\S+/.exec(said.stderr)?.[0];
    while (!listening()) await once(child.stderr, "data");
    const address = listening();
    const health = await fetch(`${address}/health`);
    if (health.status !== 200) throw new Error(`answers /health with ${health.status}`);
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ prompt: PROMPT });
    const created = await fetch(`${address}/sessions`, { method: "POST", headers, body });
    const { session_id } = await created.json();
    const events = await fetch(`${address}/sessions/${session_id}/events`).then((response) => response.text());
    if (!events.includes(WORKSPACE_TEXT)) throw new Error(`did not read the file: ${events.slice(0, 500)}`);
    child.kill("SIGTERM");
  });
}
