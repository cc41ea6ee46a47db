// Two processes over one home, over HTTP and ACP: each can read, follow and fork what the other has, and goes on with what it lets go.
import { hostname } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { startEditor } from "./editor.js";
import { addressOf, type Program, startProgram } from "./program.js";

// biome-ignore lint/suspicious/noExplicitAny: a body is whatever arrived.
type Loose = any;

function serve(hold: number, among?: Program): Program {
  const args = ["serve", "--listen", "http://127.0.0.1:0", "--model", "offline", "--session-hold", String(hold)];
  return startProgram("otter", args, {}, among ? { cwd: among.cwd, home: among.home } : {});
}

async function ask(url: string, method: string, path: string, body?: object): Promise<{ status: number; body: Loose }> {
  const headers = { ...(body && { "content-type": "application/json" }) };
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}

/** The types of records as a stream brings them. */
async function follow(url: string, id: string): Promise<string[]> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const response = await fetch(`${url}/sessions/${id}/events?until=never`, { signal: stop.signal });
  const types: string[] = [];
  void (async () => {
    let text = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      types.splice(
        0,
        types.length,
        ...[...text.matchAll(/"type":"(agent_result|user_message)"/g)].map(([, type]) => type!),
      );
    }
  })().catch(() => {});
  return types;
}

const turns = (types: readonly string[]) => types.filter((type) => type === "agent_result").length;

test("over HTTP", { timeout: 60_000 }, async () => {
  const one = serve(2);
  const first = await addressOf(one);
  const other = serve(0.5, one);
  const second = await addressOf(other);
  const { session_id: id } = (await ask(first, "POST", "/sessions", { prompt: "first" })).body;
  const [seenFirst, seenSecond] = await Promise.all([follow(first, id), follow(second, id)]);
  await expect.poll(() => [turns(seenFirst), turns(seenSecond)], { timeout: 10_000 }).toEqual([1, 1]);

  const holder = { program: "otter", pid: one.child.pid, host: hostname(), since: expect.stringMatching(/^\d{4}-/) };
  const message = expect.stringContaining(`join it with otter acp --connect ${first}`);
  for (const [method, path, body] of [
    ["POST", `/sessions/${id}/turns`, { prompt: "elsewhere" }],
    ["DELETE", `/sessions/${id}`],
    ["POST", `/sessions/${id}/undo`, {}],
  ] as const)
    expect(await ask(second, method, path, body)).toEqual({
      status: 409,
      body: expect.objectContaining({ error: "session_claimed", holder, message }),
    });
  for (const path of [
    "",
    "/settings",
    "/permissions",
    "/questions",
    "/commands",
    "/files",
    "/clients",
    "/changes",
    "/snapshots",
  ])
    expect(await ask(second, "GET", `/sessions/${id}${path}`), path).toMatchObject({ status: 200 });
  expect((await ask(second, "GET", `/sessions/${id}/settings`)).body).toEqual(
    (await ask(first, "GET", `/sessions/${id}/settings`)).body,
  );
  expect(await ask(second, "POST", `/sessions/${id}/fork`, {})).toMatchObject({ status: 201, body: { parent_id: id } });

  // Let go by the one, taken up by the other; readers of both see the turn.
  await expect
    .poll(() => ask(second, "POST", `/sessions/${id}/turns`, { prompt: "second" }), { timeout: 15_000, interval: 200 })
    .toMatchObject({ status: 202 });
  await expect.poll(() => [turns(seenFirst), turns(seenSecond)], { timeout: 10_000 }).toEqual([2, 2]);
  // And back, with everything that was added.
  await expect
    .poll(() => ask(first, "POST", `/sessions/${id}/turns`, { prompt: "third" }), { timeout: 15_000, interval: 200 })
    .toMatchObject({ status: 202 });
  await expect.poll(() => [turns(seenFirst), turns(seenSecond)], { timeout: 10_000 }).toEqual([3, 3]);
  const { summary } = (await ask(second, "GET", `/sessions/${id}`)).body;
  expect(summary.turns).toBe(3);
});

test("an editor's session continues in the browser, and then in the editor again", { timeout: 60_000 }, async () => {
  const server = serve(0.3);
  const url = await addressOf(server);
  const { cwd, home } = server;
  const editor = await startEditor({ args: ["--model", "offline", "--session-hold", "1"], cwd, home });
  const { sessionId: id } = await editor.open({ cwd });
  expect((await editor.prompt(id, "first")).result).toMatchObject({ stopReason: "end_turn" });
  const refused = await ask(url, "POST", `/sessions/${id}/turns`, { prompt: "too early" });
  expect(refused).toMatchObject({ status: 409, body: { error: "session_claimed", holder: { program: "otter" } } });
  expect(refused.body.message).toContain("go on there, or try again when it has been idle");
  await expect
    .poll(() => ask(url, "POST", `/sessions/${id}/turns`, { prompt: "second" }), { timeout: 15_000, interval: 200 })
    .toMatchObject({ status: 202 });
  // The editor, which still shows the session, sees what happens elsewhere.
  const heard = () => editor.frames.filter(({ params }) => JSON.stringify(params ?? {}).includes("second")).length;
  await expect.poll(heard, { timeout: 10_000 }).toBeGreaterThan(0);
  await expect
    .poll(async () => (await editor.prompt(id, "third")).result, { timeout: 15_000, interval: 300 })
    .toMatchObject({ stopReason: "end_turn" });
});
