/** `sessions search`: which conversations spoke of something. */
import { type Invocation, UsageError } from "@chimera/host";
import { type SearchHit, searchSessions as searchLogs } from "@chimera/run-reports";
import { isSet, limitFlag, textFlag } from "../flags.js";
import { createProgress, printJson, printLines, styleFor } from "../output.js";
import { openStore } from "../store.js";
import { plainLine } from "../terminal/text.js";
import { askedSessions } from "./list.js";

const DEFAULT_LIMIT = 20;

export async function searchSessions(invocation: Invocation): Promise<number> {
  const { flags, operands, process } = invocation;
  const needle = operands.join(" ").trim();
  if (needle === "") throw new UsageError("name what to look for: sessions search <text>");
  const limit = limitFlag(textFlag(flags, "limit", "sessions"), DEFAULT_LIMIT);
  const { store } = await openStore(invocation);
  const progress = createProgress(process.stderr, "sessions searched:");
  const hits: SearchHit[] = [];
  let searched = 0;
  const { sessions } = await store.list(askedSessions(invocation));
  for await (const found of searchLogs(store, sessions, needle)) {
    progress.update(++searched);
    if (found) hits.push({ ...found, excerpt: plainLine(found.excerpt) });
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
