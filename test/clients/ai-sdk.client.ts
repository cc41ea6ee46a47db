// The AI SDK's provider for ACP agents, from npm, against both built programs.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { repositoryRoot } from "../scratch.js";
import { install, removeHome } from "./home.js";

const SAID = "Hello from the script.";
const script = { repeat: true, turns: [{ steps: [{ reply: [{ text: SAID, chunks: 2 }] }] }] };
/** Asks once for a whole answer and once for a stream. */
const CALLER = `
import { createACPProvider } from "@mcpc-tech/acp-ai-provider";
import { generateText, streamText } from "ai";
const [cwd, command, ...args] = process.argv.slice(2);
const provider = createACPProvider({ command, args, session: { cwd, mcpServers: [] }, authMethodId: "environment" });
const asked = (prompt) => ({ model: provider.languageModel(), prompt, tools: provider.tools });
const whole = await generateText(asked("hello"));
const stream = streamText(asked("again"));
let streamed = "";
for await (const piece of stream.textStream) streamed += piece;
console.log(JSON.stringify({ whole: whole.text, streamed, finish: await stream.finishReason }));
provider.cleanup?.();
process.exit(0);
`;

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "chimera-ai-sdk-"));
  install(home, "@mcpc-tech/acp-ai-provider@0.2.9", "ai@6");
  writeFileSync(join(home, "script.json"), JSON.stringify(script));
  writeFileSync(join(home, "caller.mjs"), CALLER);
  mkdirSync(join(home, "work"));
});
afterAll(() => removeHome(home));

test.each(["otter", "ferret"])("the provider generates and streams with %s", async (program) => {
  const cli = join(repositoryRoot, "apps", program, "dist", "cli.js");
  const agent = [process.execPath, cli, "acp", "--model", `scripted:${join(home, "script.json")}`];
  const env = { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, ".chimera") };
  const args = [join(home, "caller.mjs"), join(home, "work"), ...agent];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
  expect(JSON.parse(stdout.trim().split("\n").at(-1)!)).toEqual({ whole: SAID, streamed: SAID, finish: "stop" });
});
