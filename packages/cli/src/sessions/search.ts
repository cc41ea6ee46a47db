/** `sessions search`: which conversations spoke of something. */
import { createJoin } from "@chimera/acp-schema/conversation";
import { isLost, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { LogEntry } from "@chimera/event-store";
import { type Invocation, UsageError } from "@chimera/host";
import { isSet, limitFlag, textFlag } from "../flags.js";
import { createProgress, printJson, printLines, styleFor } from "../output.js";
import { openStore } from "../store.js";
import { plainLine } from "../terminal/text.js";
import { askedSessions } from "./list.js";

const DEFAULT_LIMIT = 20;
/** Characters shown before and after what was found. */
const AROUND = 50;

interface Hit {
  readonly session_id: string;
  readonly title: string;
  readonly turn: number | null;
  readonly type: string;
  readonly excerpt: string;
}

export async function searchSessions(invocation: Invocation): Promise<number> {
  const { flags, operands, process } = invocation;
  const needle = operands.join(" ").trim().toLowerCase();
  if (needle === "") throw new UsageError("name what to look for: sessions search <text>");
  const limit = limitFlag(textFlag(flags, "limit", "sessions"), DEFAULT_LIMIT);
  const { store } = openStore(invocation);
  const progress = createProgress(process.stderr, "sessions searched:");
  const hits: Hit[] = [];
  let searched = 0;
  const { sessions } = await store.list(askedSessions(invocation));
  for (const { id, summary } of sessions) {
    progress.update(++searched);
    const found = await findIn(store.read(id), needle);
    if (found) hits.push({ session_id: id, title: summary.title ?? "", ...found });
    if (hits.length >= limit) break;
  }
  progress.end();
  if (isSet(flags, "json", "sessions")) printJson(invocation, hits);
  else {
    const style = styleFor(invocation);
    printLines(
      invocation,
      hits.map((hit) => `${style.cyan(hit.session_id)}  ${style.dim(`turn ${hit.turn ?? "-"}`)}  ${hit.excerpt}`),
    );
    if (hits.length === 0) printLines(invocation, ["(nothing found)"]);
  }
  return hits.length > 0 ? 0 : 1;
}

// --- internal ---

type Found = Pick<Hit, "turn" | "type" | "excerpt">;

/** The first place; words that arrived in several deltas are found as the text they make up. */
async function findIn(entries: AsyncIterable<LogEntry<SessionEvent>>, needle: string): Promise<Found | null> {
  const join = createJoin();
  const look = (joined: ReturnType<typeof join.push>): Found | null => {
    for (const record of joined) {
      if (isLost(record)) continue;
      const { turn, type } = record;
      const excerpt = excerptOf(wordsOf(record), needle);
      if (excerpt !== null) return { turn, type, excerpt };
    }
    return null;
  };
  for await (const entry of entries) {
    const found = look(join.push(isLost(entry) ? entry : entry.event));
    if (found) return found;
  }
  return look(join.end());
}

/** What a person would remember: what was asked, done and shown, not how it was accounted for. */
function wordsOf(record: SessionRecord): string {
  switch (record.type) {
    case "user_message":
    case "text_delta":
      return record.metadata.text;
    case "tool_call":
    case "title_changed":
      return record.metadata.title;
    case "tool_result":
      return record.metadata.output;
    default:
      return "";
  }
}

function excerptOf(text: string, needle: string): string | null {
  const at = text.toLowerCase().indexOf(needle);
  if (at < 0) return null;
  const from = Math.max(0, at - AROUND);
  const to = at + needle.length + AROUND;
  return `${from > 0 ? "…" : ""}${plainLine(text.slice(from, to))}${to < text.length ? "…" : ""}`;
}
