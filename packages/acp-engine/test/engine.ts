/** Runs sessions with the scripted agent, a real child process, as their engine, and keeps their log and snapshots on disk. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore } from "@chimera/event-store";
import { createSessions, type OwnedSession, sessionSummaries } from "@chimera/session";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { onTestFinished, vi } from "vitest";
import { type AcpEngineOptions, createAcpEngine } from "../src/index.js";

export const AGENT = join(import.meta.dirname, "scripted-agent.mjs");

export interface Directories {
  readonly home: string;
  readonly cwd: string;
  readonly state: string;
}

export function place(): Directories {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "acp-engine-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const make = (name: string) => mkdtempSync(join(root, `${name}-`));
  return { home: make("home"), cwd: make("work"), state: make("state") };
}

export function open(
  at: Directories,
  more: Partial<AcpEngineOptions> & { readonly can?: string; readonly hold?: number } = {},
) {
  const trouble: string[] = [];
  const { can = "resume,load,close", hold = 0, env, ...rest } = more;
  const engine = createAcpEngine({
    name: "scripted",
    command: process.execPath,
    args: [AGENT],
    env: { PATH: process.env["PATH"] ?? "", SCRIPTED_STATE: at.state, SCRIPTED_CAN: can, ...env },
    client: { name: "test", version: "1.0.0" },
    onTrouble: (text) => trouble.push(text),
    ...rest,
  });
  const store = createFileStore<SessionEvent, Summary>({ root: at.home, summaries: sessionSummaries });
  const sessions = createSessions({
    agent: engine.agent,
    store,
    snapshots: createSnapshotStore({ root: join(at.home, "snapshots") }),
    prefix: "test",
    defaults: { model: "none" },
    hold,
    onUnload: engine.closeSession,
    onSetting: (event, id) => {
      if (event.type === "config_changed")
        void engine.set(id, event.metadata.id.replace(/^engine:/, ""), event.metadata.value);
    },
  });
  const close = async () => {
    await sessions.shutdown();
    await engine.close();
    await store.close();
  };
  onTestFinished(close);
  return { engine, sessions, trouble, close };
}

/** Sends a prompt and returns the records of its turn after it has ended. */
export async function turn(session: OwnedSession, sessions: ReturnType<typeof open>["sessions"], text: string) {
  const { turn: number } = session.prompt({ text });
  await session.idle();
  return (await records(sessions, session.id)).filter((record) => record.turn === number);
}

export async function records(sessions: ReturnType<typeof open>["sessions"], id: string): Promise<SessionRecord[]> {
  const all: SessionRecord[] = [];
  for await (const entry of sessions.logs.read(id)) if ("event" in entry) all.push(entry.event as SessionRecord);
  return all;
}

/** Waits for the engine's question and returns it. */
export function firstQuestion(session: OwnedSession) {
  return vi.waitFor(() => {
    const [one] = session.openQuestions.values();
    if (!one) throw new Error("nothing was asked");
    return one;
  }, 10_000);
}

export function said(of: readonly SessionRecord[]): string {
  return of.map((record) => (record.type === "text_delta" ? record.metadata.text : "")).join("");
}

/** The prompts that the agent has received, in order. */
export function prompts({ state }: Directories): string[] {
  return readFileSync(join(state, "prompts"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as string);
}
