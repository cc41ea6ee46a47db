// The seal of a provider's reply is kept in the log, and sent only to that provider.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEditor } from "./editor.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

const SECRET = "c2VhbGVk-by-the-vendor";
const script = {
  repeat: true,
  turns: [
    {
      steps: [
        {
          reply: [
            { thought: "I should look.", seal: { signature: SECRET } },
            { text: "Looking.", seal: { phase: SECRET } },
            { call: "Read", args: { path: "README.md" }, seal: { thoughtSignature: SECRET } },
          ],
        },
        { reply: [{ thought: "", seal: SECRET }, { text: "Done." }] },
      ],
    },
  ],
};

function model(): string {
  return `scripted:${join(scratchTree({ "script.json": script }), "script.json")}`;
}

async function run(args: string[], home: string): Promise<string> {
  const program = startProgram("otter", args, {}, { home });
  let stdout = "";
  program.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  program.child.stdin.end();
  expect(await program.exited, program.stderr()).toBe(0);
  return stdout;
}

function logOf(home: string, id: string): string {
  const folder = join(home, "eventlog", id);
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}

test("every stream, list and document of a session over HTTP leaves seals out; its log has them", async () => {
  const server = await startServer(["--model", model()]);
  const { id, frames } = await server.run("go");
  const ends = frames.filter(({ event }) => event === "part_end").map(({ data }) => data.metadata);
  expect(ends).toEqual([
    { kind: "reasoning" },
    { kind: "text" },
    { kind: "call", call_id: expect.any(String) },
    { kind: "reasoning" },
  ]);
  // Records keep their numbers, so that a reader can continue from any of them.
  expect(frames.filter((frame) => frame.id !== undefined).map((frame) => frame.id)).toEqual(
    Array.from({ length: frames.length - 1 }, (_, index) => index + 1),
  );
  const envelope: unknown[] = [];
  for await (const frame of server.frames(`/session/${id}/events`)) {
    envelope.push(frame);
    if (frame.event === "result") break;
  }
  const documents = await Promise.all(
    [`/sessions/${id}`, ...["html", "md", "json"].map((format) => `/sessions/${id}/transcript?format=${format}`)].map(
      async (path) => {
        const { status, body } = await server.ask(`GET ${path}`);
        expect(status, path).toBe(200);
        return body;
      },
    ),
  );
  expect(JSON.stringify([frames, envelope, documents])).not.toContain(SECRET);
  expect(logOf(server.program.home, id).split(SECRET)).toHaveLength(5);
});

test("an editor sees none, live or loaded", async () => {
  const first = await startEditor({ args: ["--model", model()] });
  const { sessionId } = await first.open();
  const { updates } = await first.prompt(sessionId, "go");
  expect(JSON.stringify(updates)).toContain("Looking.");
  await first.request("session/load", { sessionId, cwd: first.program.cwd, mcpServers: [] });
  expect(JSON.stringify(first.frames)).not.toContain(SECRET);
});

test("the command line shows no seals; an export has them, so that an imported session continues unchanged", async () => {
  const [home, other, file] = [scratchTree({}), scratchTree({}), join(scratchTree({}), "session.json")];
  const name = model();
  const printed = await run(["-p", "go", "--model", name, "--output-format", "stream-json"], home);
  const id = readdirSync(join(home, "eventlog")).find((entry) => entry.startsWith("otter-")) as string;
  const shown = await run(["sessions", "show", id, "--json"], home);
  const listed = await run(["sessions", "show", id, "--full"], home);
  const page = await run(["export", id, "md"], home);
  expect(printed + shown + listed + page).not.toContain(SECRET);
  expect(printed).toContain("part_end");
  await run(["export", id, "json", "--output", file], home);
  await run(["import", file], other);
  expect(logOf(other, id).split(SECRET)).toHaveLength(5);
});
