import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSandbox, isSandboxError, type SandboxMode } from "../../src/index.js";
import { probe } from "../probe.js";
import { type Attempt, CONTROLS } from "./attempts.js";
import { type Actor, fill, type Ground, layGround, processesWith } from "./ground.js";

const DEFAULT_MODES: readonly SandboxMode[] = ["read-only", "workspace-write"];
const ORDINARY_USER = 65534;

/** Root plays both roles; anybody else only their own. */
export const ACTORS: readonly Actor[] = process.getuid?.() === 0 ? ["self", ORDINARY_USER] : ["self"];

/** Runs the attempts as `actor`; where nothing can confine, proves that everything is refused instead. */
export function escapeSuite(actor: Actor, attempts: readonly Attempt[]): void {
  const who = actor === "self" ? `uid ${process.getuid?.()}` : `uid ${actor}`;
  if (!probe.available) {
    const { message } = probe.error;
    test(`every mode but off refuses (${who})`, () => refuses(message));
    return;
  }
  describe(`as ${who}`, () => {
    let ground: Ground;
    let executed = 0;
    const planned = attempts.reduce((sum, attempt) => sum + (attempt.modes ?? DEFAULT_MODES).length, 0);
    beforeAll(async () => {
      ground = await layGround(actor);
    });
    afterAll(async () => {
      console.log(`escape attempts as ${who}: ${executed} of ${planned} executed, ${CONTROLS.length} controls`);
      await ground.close();
    });

    test.each(CONTROLS)("works: $name", async ({ mode, command }) => {
      // Run where nothing outside of /tmp can be written, there is no outside to read.
      if (command.includes("{OUT}") && !ground.outVisible) return;
      const outcome = await ground.run(mode, command);
      expect(outcome.stdout, outcome.stderr).toContain("fine");
    });

    for (const attempt of attempts) {
      test.each(attempt.modes ?? DEFAULT_MODES)(`${attempt.name} (%s)`, async (mode) => {
        const before = { outside: ground.fingerprint(), reached: ground.reached() };
        const outcome = await ground.run(mode, attempt.command);
        executed += 1;
        expect(outcome.stdout).not.toContain("ESCAPED");
        expect(outcome.stdout + outcome.stderr).not.toContain(ground.secret);
        expect(ground.fingerprint()).toBe(before.outside);
        expect(ground.reached()).toBe(before.reached);
        if (attempt.creates) expect(existsSync(fill(attempt.creates, ground))).toBe(false);
        if (attempt.leaves) expect(await survivors(attempt.leaves)).toEqual([]);
      });
    }
  });
}

// --- internal ---

/** The kernel ends a process namespace just after its first process; give it a moment. */
async function survivors(commandLine: string): Promise<number[]> {
  for (let round = 0; round < 20 && processesWith(commandLine).length > 0; round += 1) await sleep(50);
  return processesWith(commandLine);
}

async function refuses(reason: string): Promise<void> {
  console.log(`escape attempts: 0 executed, no OS sandbox here (${reason}); checking the refusal`);
  for (const mode of ["read-only", "workspace-write", "workspace-write-network"] as const) {
    const sandbox = createSandbox({
      mode,
      osSandbox: "auto",
      workspace: { cwd: process.cwd() },
      stateDir: "/nonexistent",
      env: process.env,
      log: () => {},
    });
    const error = await sandbox.confine("true").catch((thrown: unknown) => thrown);
    expect(isSandboxError(error)).toBe(true);
  }
}
