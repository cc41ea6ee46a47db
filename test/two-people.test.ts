// Two people on one server: over ACP, in both dialects, and by slash commands neither can see, stream, answer, undo or delete what is the other's.
// Routes of HTTP are held to the same in packages/http-server/test/people.test.ts.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { METHODS as NATIVE } from "../packages/acp-server/src/native/methods.js";
import { METHODS as STANDARD } from "../packages/acp-server/src/standard/methods.js";
import { callsOf, NOT_FOUND } from "../packages/acp-server/test/params.js";
import { connect, type Peer } from "./peer.js";
import { startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { type Server, startServer } from "./server.js";

const OTTER = join(repositoryRoot, "apps", "otter", "dist", "cli.js");
const SECRET = "of-the-owner";

interface TwoPeople {
  readonly server: Server;
  readonly bob: string;
  /** Ann's session, which wrote a file and waits for an answer. */
  readonly theirs: string;
  /** The request that it waits for. */
  readonly question: string;
  /** The state of Ann's session: the number of its last record, and its file. */
  state(): Promise<readonly [seq: number, file: string]>;
}

async function startWithTwo(): Promise<TwoPeople> {
  const home = scratchTree({});
  const env = { ...process.env, CHIMERA_HOME: home };
  const add = (name: string) =>
    execFileSync(process.execPath, [OTTER, "token", "add", name], { env, encoding: "utf8", stdio: "pipe" }).trim();
  const [ann, bob] = [add("ann"), add("bob")];
  const server = await startServer([], {}, { home });
  const { body } = await server.ask("POST /sessions", {
    token: ann,
    body: { prompt: `write notes.txt: ${SECRET}`, mode: "auto" },
  });
  const theirs = body.session_id as string;
  await server.all(`/sessions/${theirs}/events`, { token: ann });
  await server.ask(`PATCH /sessions/${theirs}`, { token: ann, body: { mode: "review" } });
  await server.ask(`POST /sessions/${theirs}/turns`, { token: ann, body: { prompt: "write other.txt: words" } });
  const read = async () => (await server.ask(`GET /sessions/${theirs}`, { token: ann })).body;
  await expect.poll(async () => JSON.stringify(await read()), { timeout: 15_000 }).toContain('"permission_request"');
  const file = join(server.program.cwd, "notes.txt");
  const state = async () =>
    [(await read()).events.at(-1).seq as number, existsSync(file) ? readFileSync(file, "utf8") : "gone"] as const;
  const asked = (await read()).events.find(({ type }: { type: string }) => type === "permission_request");
  return { server, bob, theirs, state, question: asked.metadata.permission_id };
}

/** A client of Bob's, over the remote transport. */
async function remote({ server, bob }: TwoPeople, hello: object): Promise<Peer> {
  const token = join(scratchTree({ token: bob }), "token");
  execFileSync("chmod", ["600", token]);
  const command = ["acp", "--connect", server.address, "--token-file", token];
  const peer = connect(startProgram("otter", command, {}, { cwd: server.program.cwd, home: scratchTree({}) }));
  expect((await peer.request("initialize", hello)).error).toBeUndefined();
  return peer;
}

const DIALECTS = [
  ["standard ACP", STANDARD, { protocolVersion: 1, clientCapabilities: {} }],
  ["otter's own dialect", NATIVE, {}],
] as const;

test.for(DIALECTS)(
  "%s: no row reaches another person's session",
  { timeout: 60_000 },
  async ([name, methods, hello]) => {
    const two = await startWithTwo();
    const { theirs } = two;
    const { cwd } = two.server.program;
    const before = await two.state();
    const peer = await remote(two, hello);
    const listed = await peer.request("session/list", {});
    expect(JSON.stringify(listed)).not.toContain(theirs);
    const calls = callsOf(Object.keys(methods), { session: theirs, question: two.question, cwd });
    expect(calls.length).toBeGreaterThan(9);
    for (const { method, params } of calls) {
      // A cancel of standard ACP is a notification.
      if (method === "session/cancel" && name === "standard ACP") {
        peer.line(JSON.stringify({ jsonrpc: "2.0", method, params }));
        continue;
      }
      const { error } = await peer.request(method, params);
      // Deleting what is not there succeeds, as the protocol has it.
      if (method === "session/delete") continue;
      expect([method, error?.message]).toEqual([method, expect.stringMatching(NOT_FOUND)]);
    }
    expect(JSON.stringify(peer.frames)).not.toContain(SECRET);
    expect(await two.state()).toEqual(before);
  },
);

test("no slash command reaches another person's session", { timeout: 120_000 }, async () => {
  const two = await startWithTwo();
  const { server, bob, theirs } = two;
  const before = await two.state();
  const own = (await server.ask("POST /session", { token: bob, body: {} })).body.session_id as string;
  const { body } = await server.ask(`GET /sessions/${own}/commands`, { token: bob });
  const names = (body.commands as { name: string }[]).map(({ name }) => name.replace(/^\//, ""));
  expect(names.length).toBeGreaterThan(8);
  // Those that name her session come last: prompts are titles of Bob's own list.
  for (const prompt of [...names.map((name) => `/${name}`), ...names.map((name) => `/${name} ${theirs}`)]) {
    const made = await server.ask("POST /sessions", { token: bob, body: { prompt } });
    expect([prompt, made.status]).toEqual([prompt, 201]);
    const frames = await server.all(`/sessions/${made.body.session_id}/events`, { token: bob });
    const told = JSON.stringify(frames.filter(({ event }) => event !== "user_message"));
    expect([prompt, told.includes(SECRET)]).toEqual([prompt, false]);
    if (!prompt.includes(theirs)) expect([prompt, told.includes(theirs)]).toEqual([prompt, false]);
  }
  expect(await two.state()).toEqual(before);
});
