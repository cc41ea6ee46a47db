/** A permission request of `-p` at a terminal: shows it in full on stderr, and takes one key as the answer. */
import type { Metadata } from "@chimera/acp-schema/events";
import type { PermissionAnswer } from "../client/client.js";
import { createKeys } from "../terminal/keys.js";
import { offerLead, PAUSE_MS, parseAnswer, permissionQuestion, permissionWords } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";

/** Null when the signal aborts before the person answers. */
export async function askAtTerminal(
  process: NodeJS.Process,
  request: Metadata<"permission_request">,
  style: Style,
  signal: AbortSignal,
): Promise<PermissionAnswer | null> {
  const { stdin, stderr } = process;
  const { lines, asked, offered } = await permissionQuestion(request, style);
  stderr.write(
    [
      ...lines,
      asked,
      ...offered.map((name, at) => offerLead(at) + name),
      `  ${permissionWords(request.options)} `,
    ].join("\n"),
  );
  let countsFrom = performance.now() + PAUSE_MS;
  return new Promise((resolve) => {
    const keys = createKeys((key) => {
      if (key.kind === "named" && key.name === "ctrl-c") process.emit("SIGINT");
      // Several characters at once were pasted, and are not an answer.
      const isKey = key.kind === "text" && key.alone === true && performance.now() >= countsFrom;
      if (!isKey) countsFrom = Math.max(countsFrom, performance.now() + PAUSE_MS);
      const answer = isKey ? parseAnswer(key.text, request) : undefined;
      if (answer) end(answer);
    });
    const onData = (bytes: Buffer) => keys.write(bytes);
    const onAbort = () => end(null);
    const end = (answer: PermissionAnswer | null) => {
      stdin.off("data", onData).setRawMode(false).pause();
      keys.close();
      signal.removeEventListener("abort", onAbort);
      stderr.write(`${answer?.decision ?? ""}\n`);
      resolve(answer);
    };
    stdin.setRawMode(true).on("data", onData).resume();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) end(null);
  });
}
