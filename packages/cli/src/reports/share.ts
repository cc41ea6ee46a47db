/** `share`: hands a session's transcript, without its secrets, to a file, a collector or stdout. */
import { envName, type Invocation } from "@chimera/host";
import { openTranscript, parseFormat, parseSink, share } from "@chimera/run-reports";
import { requireOperand } from "../actions.js";
import { isSet, textFlag } from "../flags.js";
import { printJson, printLines } from "../output.js";
import { meantId, openStore } from "../store.js";

const DEFAULT_URL = "http://localhost:5174/api/shares";

export async function shareSession(invocation: Invocation): Promise<number> {
  const { flags, profile, process } = invocation;
  const typed = requireOperand(invocation, "a session: share <id>");
  const sink = parseSink(textFlag(flags, "sink"));
  const format = parseFormat(textFlag(flags, "format"));
  const { store, paths } = await openStore(invocation);
  const id = await meantId(store, typed);
  const shared = await share(await openTranscript(store, id), {
    sink,
    format,
    root: paths.shares,
    // The address is the operator's own word, so it may name any host.
    url: textFlag(flags, "url") ?? process.env[envName(profile, "SHARE_URL")] ?? DEFAULT_URL,
    trusted: true,
  });
  if (isSet(flags, "json")) printJson(invocation, shared);
  else if (shared.sink === "stdout") process.stdout.write(shared.body);
  else printLines(invocation, [shared.sink === "file" ? shared.path : `${shared.status} ${shared.reply}`.trim()]);
  return 0;
}
