// ferret with a remote console: the real programs, the example's receiver, and an editor beside it.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createLog, readConfig } from "@chimera/host";
import type { OwnedSession } from "@chimera/session";
import { expect, onTestFinished, test } from "vitest";
import { createBridgeExtension } from "../apps/ferret/src/bridge.js";
import { profile } from "../apps/ferret/src/profile.js";
import { BRIDGE_TOKEN, openPage, startConsole, until } from "./bridge-console.js";
import { connect, type Peer } from "./peer.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const env = { FERRET_BRIDGE_TOKEN: BRIDGE_TOKEN };
const pageOf = (stderr: string) => /ui=(\S+)/.exec(stderr)?.[1];

test("ferret bridge attaches a new session, and a remote drives it", async () => {
  const url = await startConsole();
  const ferret = startProgram("ferret", ["bridge", "--insecure", "--remote-url", url], env);
  await until(() => pageOf(ferret.stderr()) !== undefined);
  const page = await openPage(pageOf(ferret.stderr())!);
  page.say({ type: "prompt", text: "list files" });
  await until(() => page.text().includes("README.md"));
  page.say({ type: "prompt", text: "/approval full" });
  await until(() => page.problems.length > 0);
  expect(page.problems[0]).toBe("refused for a remote: /approval is given where the program runs");
  ferret.child.kill("SIGTERM");
  expect(await ferret.exited).toBe(0);
  await until(page.ended);
});

test.each([
  ["no remote", [], /^ferret bridge: needs --remote-url/],
  ["a remote without TLS", ["--remote-url", "http://127.0.0.1:9"], /is not encrypted/],
  ["a remote that is not an address", ["--remote-url", "console"], /must be an https address/],
  ["a token in the address", ["--remote-url", "https://u:p@console.example"], /may not contain credentials/],
])("ferret bridge with %s ends with 2", async (_why, flags, told) => {
  const ferret = startProgram("ferret", ["bridge", ...flags], env);
  expect(await ferret.exited).toBe(2);
  expect(ferret.stderr()).toMatch(told);
});

test("ferret bridge ends with 2 without a token, and with one that is refused", async () => {
  const url = await startConsole();
  const flags = ["bridge", "--insecure", "--remote-url", url];
  const [without, wrong] = [
    startProgram("ferret", flags),
    startProgram("ferret", [...flags, "--bridge-token", "wrong"]),
  ];
  expect(await without.exited).toBe(2);
  expect(without.stderr()).toContain("FERRET_BRIDGE_TOKEN");
  expect(await wrong.exited).toBe(2);
  expect(wrong.stderr()).toContain("the token was not accepted");
});

test("ferret bridge ends with 1 when the other end does not speak its protocol, or the session does not exist", async () => {
  const server = createServer((_, response) => response.writeHead(404).end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const flags = ["--insecure", "--remote-url", `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
  const strange = startProgram("ferret", ["bridge", ...flags], env);
  const missing = startProgram("ferret", ["bridge", "ferret-20200101T000000-00000000", ...flags], env);
  expect(await strange.exited).toBe(1);
  expect(strange.stderr()).toContain("registering was answered 404");
  expect(await missing.exited).toBe(1);
});

test("a bridge that cannot begin ends, so that the command which waits for it does", async () => {
  const flags = { "remote-url": "https://console.example" };
  const surroundings = { env: { ...process.env, ...env, CHIMERA_HOME: scratchTree({}) } };
  const config = readConfig({ profile, flags, process: Object.assign(Object.create(process), surroundings) });
  const exits: unknown[] = [];
  const context = { ...config, ...surroundings, flags, log: createLog({ level: "error", sinks: [] }) };
  const { onLoad, onUnload } = createBridgeExtension({ onExit: (exit) => exits.push(exit) }).start(context);
  const session = { id: "ferret-20260425T120300-aaaa1111" } as OwnedSession;
  onLoad?.(session, { acp: async () => Promise.reject(new Error("no such file")), attach: () => ({ detach() {} }) });
  await onUnload?.(session.id);
  expect(exits).toEqual([{ code: 1, message: "it could not begin: Error: no such file" }]);
});

test("an editor and a remote share a session: both are asked, the first answer counts and says where it came from", async () => {
  const url = await startConsole();
  const { peer, sessionId } = await editor(["--bridge", "--insecure", "--remote-url", url]);
  const status = async () => (await peer.request("session/bridgeStatus", { sessionId })).result;
  await until(async () => (await status()).state === "connected");
  const { uiUrl, ...rest } = await status();
  expect(rest).toEqual({ attached: true, state: "connected", remoteUrl: url, lastEventId: expect.any(Number) });

  const page = await openPage(uiUrl);
  page.say({ type: "prompt", text: "push it" });
  const asked = await peer.find(({ params }) => params?.kind === "permission_request");
  await until(() => page.questions.size === 1);
  const [question] = page.questions.values();
  expect(question?.toolCall.rawInput).toEqual(asked.params.args);
  page.say({ type: "answer", id: question?.id, optionId: "reject_once" });
  await peer.find(({ params }) => params?.kind === "turn_end");
  const late = await peer.request("permission/respond", { sessionId, id: asked.params.id, decision: "allow" });
  expect(late.error?.code).toBe(-32602);

  const { events } = (await peer.request("session/get", { sessionId })).result;
  const origins = events.flatMap(({ type, origin }: { type: string; origin?: string }) =>
    ["user_message", "permission_resolved"].includes(type) ? [[type, origin]] : [],
  );
  expect(origins).toEqual([
    ["user_message", "bridge"],
    ["permission_resolved", "bridge"],
  ]);
});

test("a bridge whose token is refused leaves the editor's session alone", async () => {
  const url = await startConsole();
  const flags = ["--bridge", "--insecure", "--remote-url", url, "--bridge-token", "wrong"];
  const { peer, sessionId } = await editor(flags);
  await until(() => peer.program.stderr().includes("the token was not accepted"));
  expect((await peer.request("session/bridgeStatus", { sessionId })).result).toEqual({ attached: false });
  expect((await peer.request("session/message", { sessionId, message: "/cost" })).result.stopReason).toBe("end_turn");
});

test("without a bridge its status says so, and the handshake says that there could be one", async () => {
  const peer = connect(startProgram("ferret", ["serve"]));
  const { result } = await peer.request("initialize", {});
  expect(result.capabilities.bridge).toBe(true);
  expect((await peer.request("session/bridgeStatus", {})).result).toEqual({ attached: false });
  const lonely = startProgram("ferret", ["serve", "--bridge"]);
  expect(await lonely.exited).toBe(2);
});

/** `ferret serve` with a model that wants to push. */
async function editor(flags: string[]): Promise<{ peer: Peer; sessionId: string }> {
  const call = { call: "Bash", args: { command: "git push origin main" } };
  const turns = [{ steps: [{ reply: [call] }, { reply: [{ text: "Done." }] }] }];
  const script = join(scratchTree({ "script.json": { turns } }), "script.json");
  const settings = ["--model", `scripted:${script}`, "--sandbox", "workspace-write-network", "--approval", "auto"];
  const peer = connect(startProgram("ferret", ["serve", ...settings, ...flags], env));
  await peer.request("initialize", {});
  const { sessionId } = (await peer.request("session/new", {})).result;
  return { peer, sessionId };
}
