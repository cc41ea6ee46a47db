import { describe, expect, test } from "vitest";
import { type BridgeErrorCode, createBridge, isBridgeError } from "../src/index.js";
import { createManualClock } from "./manual-clock.js";
import { asking, startProgram } from "./program.js";
import { type ReceiverOptions, TOKEN } from "./receiver.js";
import { receive, run } from "./running.js";
import { until } from "./until.js";

describe("before anything is sent", () => {
  const refused: [why: string, options: { remoteUrl?: string; token?: string }, code: BridgeErrorCode][] = [
    ["plain http", { remoteUrl: "http://console.example" }, "insecure_url"],
    ["plain http on this machine", { remoteUrl: "http://127.0.0.1:1" }, "insecure_url"],
    ["another scheme", { remoteUrl: "ftp://console.example" }, "bad_remote_url"],
    ["a script", { remoteUrl: "javascript:alert(1)" }, "bad_remote_url"],
    ["no address", { remoteUrl: "console" }, "bad_remote_url"],
    ["nothing", { remoteUrl: "" }, "bad_remote_url"],
    ["credentials in the address", { remoteUrl: "https://user:secret@console.example" }, "bad_remote_url"],
    ["no token", { token: "" }, "bad_token"],
    ["a token with a line break", { token: "a\r\nx-evil: 1" }, "bad_token"],
    ["a token beyond ASCII", { token: "tökén" }, "bad_token"],
  ];
  test.each(refused)("%s", async (_why, options, code) => {
    const program = await startProgram(asking);
    const make = () =>
      createBridge({
        remoteUrl: "https://console.example",
        token: TOKEN,
        session: program.bridged,
        serve: program.serve,
        ...options,
      });
    expect(make).toThrow(expect.objectContaining({ code }));
    try {
      make();
    } catch (error) {
      expect(isBridgeError(error)).toBe(true);
      expect(String(error)).not.toContain("secret");
    }
  });
});

describe("the bridge ends for good after", () => {
  const bodies: [why: string, options: ReceiverOptions, exit: { code: number; message: RegExp }][] = [
    ["401", { token: "another" }, { code: 2, message: /^registering was answered 401: the token was not accepted$/ }],
    ["403", { answer: () => ({ status: 403 }) }, { code: 2, message: /403/ }],
    ["a path that is not there", { answer: () => ({ status: 404 }) }, { code: 1, message: /404/ }],
    ["a redirect, which would carry the token", { answer: () => ({ status: 307 }) }, { code: 1, message: /307/ }],
    ["a page", { answer: () => ({ status: 200, body: "<html>" }) }, { code: 1, message: /JSON object/ }],
    ["null", { answer: () => ({ status: 200, body: "null" }) }, { code: 1, message: /JSON object/ }],
    ["no ws_url", { answer: () => ({ status: 200, body: {} }) }, { code: 1, message: /no WebSocket/ }],
    ["a ws_url of another kind", { wsUrl: () => "file:///etc/passwd" }, { code: 1, message: /no WebSocket/ }],
  ];
  test.each(bodies)("%s", async (_why, options, exit) => {
    const program = await startProgram(asking);
    const receiver = await receive(options);
    const { code, message } = await run(program, receiver).exit;
    expect({ code, message }).toEqual({ code: exit.code, message: expect.stringMatching(exit.message) });
    expect(message).not.toContain(TOKEN);
  });

  test("a token that the WebSocket refuses", async () => {
    const program = await startProgram(asking);
    const receiver = await receive({
      token: "another",
      answer: ({ path }) =>
        path === "/api/sessions" ? { status: 200, body: { ui_url: "/s", ws_url: "/ws/x" } } : undefined,
    });
    expect(await run(program, receiver).exit).toMatchObject({ code: 2 });
  });

  test("a token that is revoked while attached", async () => {
    const clock = createManualClock();
    const program = await startProgram(asking);
    const receiver = await receive({
      answer: ({ path }) => (path.endsWith("/heartbeat") ? { status: 401 } : undefined),
    });
    const { exit } = run(program, receiver, { clock });
    await receiver.attached();
    await until(() => clock.asked.length === 1);
    clock.pass(30_000);
    expect(await exit).toMatchObject({ code: 2 });
  });
});

test("an endless reply is cut off and tried again", async () => {
  const program = await startProgram(asking);
  const receiver = await receive({ answer: () => ({ status: 200, body: `"${"x".repeat(1 << 20)}"` }) });
  const { logged } = run(program, receiver);
  await until(() => logged.length > 1);
  expect(logged[0]).toContain("longer than");
});

test("after one attachment, a remote that answers nonsense is only tried again", async () => {
  let nonsense = false;
  const program = await startProgram(asking);
  const receiver = await receive({ answer: () => (nonsense ? { status: 404 } : undefined) });
  const { bridge } = run(program, receiver);
  await receiver.attached();
  nonsense = true;
  await receiver.kill();
  await receiver.start();
  await until(() => bridge.status().attached && JSON.stringify(bridge.status()).includes("404"));
  nonsense = false;
  await receiver.attached();
  expect(bridge.status()).toMatchObject({ state: "connected" });
});
