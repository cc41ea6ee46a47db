// A log with damaged records on disk, read by the built programs: each transport says once what is missing, without a number.
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { type EditorOptions, startEditor } from "./editor.js";
import { connect, type Frame } from "./peer.js";
import { fileScope, startProgram } from "./program.js";
import { type SseFrame, startServer, until } from "./server.js";

const atEnd = fileScope();
const TEXT = "records 4 to 5 cannot be read";
let id: string;
let surroundings: { cwd: string; home: string };
let sound: SseFrame[];

beforeAll(async () => {
  const { program, run } = await startServer([], {}, { atEnd });
  ({ id, frames: sound } = await run("list files and read README"));
  program.child.kill("SIGTERM");
  await program.exited;
  surroundings = { cwd: program.cwd, home: program.home };
  const directory = join(program.home, "eventlog", id);
  const segment = join(directory, readdirSync(directory).find((name) => name.endsWith(".ndjson"))!);
  const bytes = readFileSync(segment);
  for (const seq of [4, 5]) bytes[bytes.indexOf(`{"seq":${seq},`) + 40]! ^= 4;
  writeFileSync(segment, bytes);
}, 60_000);

/** What a stream shows, in order: a number for a record, a text for what stands between records. */
const shown = (frames: readonly SseFrame[]) => frames.map((frame) => frame.id ?? frame.event);
const numbers = (from: number) =>
  sound.flatMap((frame) => (frame.id !== undefined && frame.id >= from ? frame.id : []));

test("over HTTP, in both streams, whatever the cursor, and in the transcript", async () => {
  const server = await startServer([], {}, surroundings);
  const path = `/sessions/${id}/events`;
  const after = (cursor: string) => server.all(path, { headers: { "last-event-id": cursor } });
  const whole = await server.all(path);
  expect(shown(whole)).toEqual([1, 2, 3, "notice", ...numbers(6), "end"]);
  expect(whole[3]!.data).toEqual({
    type: "notice",
    turn: null,
    metadata: { level: "error", text: TEXT },
    missing: { first: 4, last: 5 },
  });
  expect(whole.filter((frame) => frame.id !== undefined)).toEqual(sound.filter(({ id }) => id && id !== 4 && id !== 5));
  expect(shown(await after("3"))).toEqual(["notice", ...numbers(6), "end"]);
  const inside = await after("4");
  expect(shown(inside)).toEqual(["notice", ...numbers(6), "end"]);
  expect(inside[0]!.data.missing).toEqual({ first: 5, last: 5 });
  expect(shown(await after("5"))).toEqual([...numbers(6), "end"]);

  const older = await until(server.frames(`/session/${id}/events`), ({ event }) => event === "result");
  expect(shown(older)).toEqual([1, 2, 3, "loop_event", ...numbers(6)]);
  expect(older[3]!.data).toEqual({
    message_id: null,
    type: "notice",
    data: { level: "error", text: TEXT, missing: { first: 4, last: 5 } },
    turn: null,
    timestamp: expect.any(Number),
    ts: expect.stringMatching(/Z$/),
  });
  const { events } = (await server.ask(`GET /sessions/${id}`)).body;
  expect(events.map(({ seq }: { seq?: number }) => seq ?? "notice")).toEqual([1, 2, 3, "notice", ...numbers(6)]);
  expect(events[3]).toEqual(whole[3]!.data);
  const run = (await server.ask(`GET /runs/${id}/events`)).body.events;
  expect(run.filter(({ type }: { type: string }) => type === "generic")).toEqual([
    { type: "generic", generic: whole[3]!.data },
  ]);
  const { body } = await server.ask(`GET /sessions/${id}/transcript?format=md`);
  expect(body.split(TEXT)).toHaveLength(2);
});

test("to a person, who follows the session, looks at it or exports it", async () => {
  const server = await startServer([], {}, surroundings);
  const type = async (...args: string[]) => {
    const { child, exited } = startProgram("otter", args, {}, surroundings);
    let text = "";
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
    }
    child.stdin.end();
    await exited;
    return text;
  };
  for (const args of [
    ["attach", server.address, id],
    ["sessions", "show", id, "--full"],
    ["sessions", "show", id, "--json"],
    ["export", id],
    ["export", id, "--layout", "files"],
    ["export", id, "md"],
  ]) {
    expect((await type(...args)).split(TEXT), args.join(" ")).toHaveLength(2);
  }
});

const said = (frames: readonly Frame[]) => frames.filter((frame) => JSON.stringify(frame).includes("cannot be read"));

const editors: [string, EditorOptions, Partial<Frame>][] = [
  [
    "as a notice, to an editor that shows them",
    { clientCapabilities: { session: { notices: {} } } },
    { method: "session/update", params: { update: { sessionUpdate: "notice", severity: "error", title: TEXT } } },
  ],
  [
    "as a quoted message of its own, to any other",
    {},
    {
      method: "session/update",
      params: {
        update: {
          sessionUpdate: "agent_message_chunk",
          messageId: "notice-4",
          content: { type: "text", text: `\n\n> **Error:** ${TEXT}\n\n`, annotations: { audience: ["user"] } },
        },
      },
    },
  ],
];
test.each(editors)("over ACP, %s: on load and on replay", async (_, options, { method, params }) => {
  const editor = await startEditor({ ...options, ...surroundings });
  const expected = [{ jsonrpc: "2.0", method, params: { sessionId: id, ...params } }];
  const { result } = await editor.request("session/load", {
    sessionId: id,
    cwd: surroundings.cwd,
    mcpServers: [],
  });
  expect(result.modes).toBeDefined();
  expect(said(editor.frames)).toEqual(expected);
  for (const [sinceEventId, times] of [
    [3, 1],
    [5, 0],
  ]) {
    const before = editor.frames.length;
    await editor.request("_chimera.dev/session/replay", { sessionId: id, sinceEventId });
    expect(said(editor.frames.slice(before))).toEqual(times === 1 ? expected : []);
  }
  const { updates } = await editor.prompt(id, "say hello");
  expect(said(updates)).toEqual([]);
});

test.each(["otter", "ferret"] as const)("in the native dialect of %s, without an event id", async (name) => {
  const peer = connect(startProgram(name, ["serve", "--acp"], {}, surroundings));
  await peer.request("initialize", {});
  const resume = async (sinceEventId: number) => {
    const before = peer.frames.length;
    const { result } = await peer.request("session/resume", { sessionId: id, sinceEventId });
    return { result, frames: peer.frames.slice(before, -1) };
  };
  const { result, frames } = await resume(0);
  expect(said(frames)).toEqual([
    { jsonrpc: "2.0", method: "_chimera.dev/session/notice", params: { sessionId: id, level: "error", text: TEXT } },
  ]);
  const ids = frames.flatMap(({ method, params }) => (method === "session/update" ? params.eventId : []));
  // Each lost record counts as one that had an id: an id is never given to two records.
  const missed = result.lastEventId - ids.length;
  expect(missed).toBe(2);
  const before = ids.findIndex((id, at) => id > at + 1);
  expect(ids).toEqual(ids.map((_, at) => (at < before ? at + 1 : at + 1 + missed)));
  expect(said((await resume(result.lastEventId)).frames)).toEqual([]);
  peer.program.child.stdin.end();
  await once(peer.program.child, "close");
});
