/** `doctor`: looks at what has to be in place, and says what to do where it is not. */
import type { Invocation } from "@chimera/host";
import { isSet } from "../flags.js";
import { printJson, printLines, styleFor } from "../output.js";
import { plain } from "../terminal/plain.js";
import type { Style } from "../terminal/style.js";
import { CHECKS, type Finding } from "./checks.js";

export async function examine(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const findings: (Finding & { readonly check: string })[] = [];
  for (const [check, look] of Object.entries(CHECKS)) {
    const found = await look(invocation).catch((error: Error): Finding => ({ state: "fail", found: error.message }));
    findings.push({ check, ...found });
  }
  if (isSet(flags, "json")) printJson(invocation, findings);
  else {
    const style = styleFor(invocation);
    const marks = marksOf(style);
    const width = Math.max(...findings.map(({ check }) => check.length)) + 2;
    for (const { check, state, found, remedy } of findings) {
      printLines(invocation, [`${marks[state]} ${check.padEnd(width)}${plain(found)}`]);
      if (remedy) printLines(invocation, [`${" ".repeat(width + 2)}${style.dim(`-> ${plain(remedy)}`)}`]);
    }
  }
  return findings.some(({ state }) => state === "fail") ? 1 : 0;
}

// --- internal ---

function marksOf(style: Style): Readonly<Record<Finding["state"], string>> {
  return { ok: style.green("✓"), warn: style.yellow("!"), fail: style.red("✗") };
}
