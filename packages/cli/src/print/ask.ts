/** A permission request at the terminal of `-p`: shown in full on stderr, answered with one key. */
import type { Decision, Metadata } from "@chimera/acp-schema/events";
import { createKeys } from "../terminal/keys.js";
import { parseAnswer, permissionQuestion, permissionWords } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";

/** A key that was on its way when the question came up does not answer it. */
const PAUSE_MS = 400;

/** Null when the question is gone before it is answered. */
export async function askAtTerminal(
  process: NodeJS.Process,
  request: Metadata<"permission_request">,
  style: Style,
  signal: AbortSignal,
): Promise<Decision | null> {
  const { stdin, stderr } = process;
  const { lines, asked } = await permissionQuestion(request, style);
  stderr.write([...lines, asked, `  ${permissionWords(request.options)} `].join("\n"));
  let countsFrom = performance.now() + PAUSE_MS;
  return new Promise((resolve) => {
    const keys = createKeys((key) => {
      if (key.kind === "named" && key.name === "ctrl-c") process.emit("SIGINT");
      // What came in one piece was pasted, and answers nothing.
      const isKey = key.kind === "text" && key.alone === true && performance.now() >= countsFrom;
      if (!isKey) countsFrom = Math.max(countsFrom, performance.now() + PAUSE_MS);
      const decision = isKey ? parseAnswer(key.text, request.options) : undefined;
      if (decision) end(decision);
    });
    const onData = (bytes: Buffer) => keys.write(bytes);
    const onAbort = () => end(null);
    const end = (decision: Decision | null) => {
      stdin.off("data", onData).setRawMode(false).pause();
      keys.close();
      signal.removeEventListener("abort", onAbort);
      stderr.write(`${decision ?? ""}\n`);
      resolve(decision);
    };
    stdin.setRawMode(true).on("data", onData).resume();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) end(null);
  });
}
