import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { makeHome, start } from "./program.js";

const LEAKY = fileURLToPath(new URL("fixtures/leaky.mjs", import.meta.url));

/** A server with three models: one whose first turn leaks a rejection, one that talks for a second, one that never ends. */
async function startLeaky(leak: { after: number; takes: number }) {
  const home = await makeHome();
  const script = (name: string, turns: unknown[]) => {
    const path = join(home, `${name}.json`);
    writeFileSync(path, JSON.stringify({ turns }));
    return `scripted:${path}`;
  };
  const models = {
    leaking: script("leaking", [
      { steps: [{ reply: [{ call: "Leak", args: leak }] }, { reply: [{ text: "fine" }] }] },
      { steps: [{ reply: [{ text: "still here" }] }] },
    ]),
    talking: script("talking", [{ steps: [{ reply: [{ text: "word ".repeat(40), chunks: 40, delayMs: 25 }] }] }]),
    stalled: script("stalled", [{ steps: [{ reply: [{ text: "word" }, { stall: true }] }] }]),
  };
  const server = start(home, ["serve", "--port", "0"], { program: LEAKY });
  await server.until("listening on");
  const url = /http:\/\/\S+/.exec(server.said().stderr)![0];
  const post = async (path: string, body: object): Promise<{ session_id: string }> => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as { session_id: string };
  };
  return {
    server,
    begin: async (model: keyof typeof models) =>
      (await post("/sessions", { prompt: "go", model: models[model] })).session_id,
    goOn: (id: string) => post(`/sessions/${id}/turns`, { prompt: "and now" }),
    /** The records of a session up to the end of its running turn. */
    async records(id: string): Promise<{ type: string; metadata: Record<string, unknown> }[]> {
      const text = await (await fetch(`${url}/sessions/${id}/events`)).text();
      return [...text.matchAll(/^data: (.*"seq".*)$/gm)].map(([, line]) => JSON.parse(line!));
    },
  };
}

test("an unhandled rejection of a turn ends that turn only", async () => {
  const { server, begin, goOn, records } = await startLeaky({ after: 50, takes: 10_000 });
  const other = await begin("talking");
  const id = await begin("leaking");
  const told = await records(id);
  expect(told.filter(({ type }) => type === "error").map(({ metadata }) => metadata["message"])).toEqual([
    "left behind",
  ]);
  expect(told.find(({ type }) => type === "turn_end")?.metadata).toEqual({ stop_reason: "error" });
  expect(told.at(-1)).toMatchObject({ type: "agent_result", metadata: { success: false, error: "left behind" } });
  expect(server.said().stderr).toMatch(/"level":"error".*an unhandled rejection ends the turn.*left behind/);

  await goOn(id);
  expect((await records(id)).at(-1)).toMatchObject({ metadata: { success: true, output: "still here" } });
  expect((await records(other)).at(-1)).toMatchObject({ type: "agent_result", metadata: { success: true } });
});

test("an unhandled rejection after its turn ends the process: running turns are ended and recorded, and the exit code is 70", async () => {
  const { server, begin, records } = await startLeaky({ after: 400, takes: 0 });
  const other = await begin("stalled");
  const id = await begin("leaking");
  const streamed = records(other);
  expect((await records(id)).at(-1)).toMatchObject({ type: "agent_result", metadata: { success: true } });
  expect((await server.ended).code).toBe(70);
  expect((await streamed).at(-1)).toMatchObject({ type: "cancelled" });
});
