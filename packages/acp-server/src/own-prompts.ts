import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { LogEntry } from "@chimera/event-store";

/** A prompt is far from its record only while other prompts are under way, so the newest keys are enough. */
const MOST_KEYS = 1000;

export type OwnPrompts = ReturnType<typeof createOwnPrompts>;

/** The prompts that a connection sent, by the keys it gave them. */
export function createOwnPrompts() {
  const keys = new Set<string>();
  return {
    add(key: string | undefined) {
      if (key === undefined) return;
      keys.add(key);
      if (keys.size > MOST_KEYS) keys.delete(keys.keys().next().value!);
    },
    /** Whether the record is that of such a prompt, perhaps sent over a channel of before. */
    has(entry: LogEntry<SessionEvent>) {
      if (keys.size === 0 || isLost(entry) || entry.event.type !== "user_message") return false;
      const { key } = entry.event.metadata;
      return key !== undefined && keys.has(key);
    },
  };
}
