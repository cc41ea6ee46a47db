/** A permission request at the terminal of `-p`: shown in full on stderr, answered with one key. */
import type { Metadata } from "@chimera/acp-schema/events";
import type { PermissionAnswer } from "../client/client.js";
import { createKeys } from "../terminal/keys.js";
import { offerLead, parseAnswer, permissionQuestion, permissionWords } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";

/** A key that was on its way when the question came up does not answer it. */
const PAUSE_MS = 400;

/** Null when the question is gone before it is answered. */
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
      // What came in one piece was pasted, and answers nothing.
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
