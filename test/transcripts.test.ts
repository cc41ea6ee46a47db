// The same coding work with every vendor, each of which refuses what the real one refuses: real files, real commands, a log on
// disk, and a new process for each prompt.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { builtinTools } from "@chimera/agent/tools";
import { describe, expect, test } from "vitest";
import { vendors } from "../packages/agent/test/vendors/all.js";
import { openModelSession } from "./model-session.js";
import { BINARY, type Transcript, transcripts } from "./transcripts.js";

const tools = builtinTools();

function contentOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function put(cwd: string, { files }: Transcript): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), BINARY[path] ? Buffer.from(BINARY[path], "base64") : content);
  }
}

describe.concurrent.each(vendors)("$name", ({ create, env = {} }) => {
  test.each(transcripts)("$name", async (transcript) => {
    const replies = transcript.turns.flatMap((turn) => turn.replies);
    const session = await openModelSession({ vendor: create(), env, replies, tools });
    try {
      put(session.cwd, transcript);
      for (const { prompt, replies: said } of transcript.turns) {
        const end = (await session.prompt(prompt)).at(-1);
        const output = said
          .at(-1)
          ?.says.map((part) => ("text" in part ? part.text : ""))
          .join("");
        expect(end).toMatchObject({ type: "agent_result", metadata: { success: true, error: null, output } });
      }
      const after = Object.keys(transcript.after).map((path) => [path, contentOf(join(session.cwd, path))]);
      expect(Object.fromEntries(after)).toEqual(transcript.after);
      expect(session.running.left()).toBe(0);
      // Where a model wants to be asked is found out once in each process.
      expect(session.running.refused.filter((words) => !/\/responses|think value/.test(words))).toEqual([]);
    } finally {
      await session.close();
    }
  });
});

test("there are 25 of them", () => {
  expect(transcripts).toHaveLength(25);
});
