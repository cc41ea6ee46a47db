import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxMode } from "../../src/index.js";
import { type Confinement, confinements } from "../confinements.js";
import { processesWith } from "../run.js";
import type { Attempt } from "./attempt.js";
import { CONTROLS } from "./attempts.js";
import { type Actor, BEGUN, fill, type Ground, layGround } from "./ground.js";

const DEFAULT_MODES: readonly SandboxMode[] = ["read-only", "workspace-write"];
const ORDINARY_USER = 65534;

/** Root tests both as root and as an ordinary user; an ordinary user only as themselves. */
const ROLES: readonly { who: string; actor: Actor; tags: string[] }[] = [
  { who: "root", actor: "self", tags: ["needs-root"] },
  { who: "an ordinary user", actor: process.getuid?.() === 0 ? ORDINARY_USER : "self", tags: [] },
];

/** Runs the attempts with every way to confine, as root and as an ordinary user. */
export function escapeSuite(attempts: readonly Attempt[]): void {
  for (const confinement of confinements) {
    for (const { who, actor, tags } of ROLES) {
      const name = `${confinement.name} as ${who}`;
      describe(name, { tags: [...tags, ...confinement.tags] }, () => attack(name, attempts, confinement, actor));
    }
  }
}

// --- internal ---

function attack(name: string, attempts: readonly Attempt[], confinement: Confinement, actor: Actor): void {
  let ground: Ground;
  let executed = 0;
  const planned = attempts.reduce((sum, attempt) => sum + (attempt.modes ?? DEFAULT_MODES).length, 0);
  beforeAll(async () => {
    ground = await layGround(actor, confinement);
  });
  afterAll(async () => {
    console.log(`escape attempts on ${name}: ${executed} of ${planned} executed, ${CONTROLS.length} controls`);
    await ground.close();
  });

  for (const { name: what, mode, command } of CONTROLS) {
    test(`works: ${what}`, { tags: needsOf(command) }, async () => {
      const outcome = await ground.run(mode, command);
      expect(outcome.stdout, outcome.stderr).toContain("fine");
    });
  }

  for (const attempt of attempts) {
    const tags = needsOf(attempt.command);
    test.each(attempt.modes ?? DEFAULT_MODES)(`${attempt.name} (%s)`, { tags }, async (mode) => {
      const before = { outside: ground.fingerprint(), reached: ground.reached() };
      const outcome = await ground.run(mode, attempt.command);
      executed += 1;
      expect(outcome.stdout.split("\n", 1), outcome.stderr).toEqual([BEGUN]);
      expect(outcome.stdout).not.toContain("ESCAPED");
      expect(outcome.stdout + outcome.stderr).not.toContain(ground.secret);
      expect(ground.fingerprint()).toBe(before.outside);
      expect(ground.reached()).toBe(before.reached);
      if (attempt.creates) expect(existsSync(fill(attempt.creates, ground))).toBe(false);
      if (attempt.leaves) expect(await survivors(fill(attempt.leaves, ground))).toEqual([]);
    });
  }
}

/** Programs without which a command that names them would prove nothing. */
function needsOf(command: string): string[] {
  return ["bwrap", "git", "python3"].filter((name) => command.includes(`${name} -`)).map((name) => `needs-${name}`);
}

/** Waits, because the kernel ends a process namespace slightly after its first process. */
async function survivors(commandLine: string): Promise<number[]> {
  let left = processesWith(commandLine);
  for (let round = 0; round < 20 && left.length > 0; round += 1) {
    await sleep(50);
    left = processesWith(commandLine);
  }
  return left;
}
