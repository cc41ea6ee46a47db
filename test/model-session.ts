// A session of the real core on a log in files, with a vendor on loopback as its model; it can be restarted at any time.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MODE_FLAGS } from "@chimera/acp-schema/conversation";
import { isLost, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { anthropicFirst, createAgent, createModels, type Tool } from "@chimera/agent";
import { localWorkspace } from "@chimera/agent/tools";
import { createFileStore } from "@chimera/event-store";
import { createSessions, createSlashPalette, type Sessions } from "@chimera/session";
import {
  type ModelReply,
  type RunningVendor,
  startVendor,
  type Vendor,
} from "../packages/agent/test/vendors/vendor.js";

export interface ModelSession {
  readonly running: RunningVendor;
  /** The workspace. */
  readonly cwd: string;
  /** Runs a prompt to the end of its turn, in a process that knows no more than the log. */
  prompt(text: string): Promise<SessionRecord[]>;
  close(): Promise<void>;
}

export interface ModelSessionOptions {
  readonly vendor: Vendor;
  readonly replies: readonly ModelReply[];
  readonly tools: readonly Tool[];
  readonly env?: Readonly<Record<string, string>>;
  readonly systemPrompt?: string;
}

export async function openModelSession(options: ModelSessionOptions): Promise<ModelSession> {
  const { vendor, tools, env = {}, systemPrompt = "You are a test." } = options;
  const running = await startVendor(vendor, options.replies);
  const base = mkdtempSync(join(tmpdir(), "model-session-"));
  const cwd = mkdtempSync(join(base, "work-"));
  const disk = localWorkspace(cwd);
  const open = () => {
    const models = createModels({ env: { ...vendor.env(running.url), ...env }, chain: anthropicFirst });
    const agent = createAgent({
      resolveModel: models,
      tools,
      systemPrompt,
      clock: { now: () => performance.now(), sleep: async () => {} },
    });
    const store = createFileStore<SessionEvent, Summary>({ root: join(base, "log"), durability: "none" });
    const sessions = createSessions({
      agent,
      store,
      disk,
      prefix: "otter",
      defaults: { ...MODE_FLAGS.auto, model: vendor.model, maxSteps: 100 },
      commands: createSlashPalette({ home: base }),
    });
    return { store, sessions };
  };
  let id: string | null = null;
  return {
    running,
    cwd,
    async prompt(text) {
      const { store, sessions } = open();
      try {
        const session: Awaited<ReturnType<Sessions["create"]>> = id
          ? await sessions.load(id)
          : await sessions.create({ cwd });
        id = session.id;
        const { turn } = session.prompt({ text });
        await session.idle();
        const records: SessionRecord[] = [];
        for await (const entry of store.read(id))
          if (!isLost(entry) && entry.event.turn === turn) records.push(entry.event);
        return records;
      } finally {
        await sessions.shutdown();
        await store.close();
      }
    },
    async close() {
      running.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
