import { expect, test } from "vitest";
import { createHastyClock, createManualClock } from "./manual-clock.js";
import { asking, startProgram } from "./program.js";
import { TOKEN } from "./receiver.js";
import { receive, run } from "./running.js";
import { until } from "./until.js";

const HEARTBEAT = 30_000;

test("registers, beats every 30 seconds and says goodbye, with the token in each call", async () => {
  const clock = createManualClock();
  const program = await startProgram(asking);
  const { id } = program.session;
  const receiver = await receive();
  const { bridge, exit, stop } = run(program, receiver, { clock });
  await receiver.attached();

  expect(bridge.status()).toEqual({
    attached: true,
    state: "connected",
    remoteUrl: receiver.url,
    uiUrl: `${receiver.url}/s/${id}`,
    lastEventId: program.session.lastSeq,
  });
  await until(() => clock.asked.length === 1);
  clock.pass(HEARTBEAT);
  await until(() => receiver.calls.length === 2 && clock.asked.length === 2);
  stop();

  expect(await exit).toEqual({ code: 0, message: "stopped" });
  expect(bridge.status()).toEqual({ attached: false });
  expect(clock.asked).toEqual([HEARTBEAT, HEARTBEAT]);
  const token = `Bearer ${TOKEN}`;
  const state = { sandbox: "workspace-write", approval: "auto" };
  expect(receiver.calls).toEqual([
    {
      method: "POST",
      path: "/api/sessions",
      token,
      body: { session_id: id, model: "test-model", ...state, cwd: "/tmp" },
    },
    { method: "POST", path: `/api/sessions/${id}/heartbeat`, token, body: { ...state, cost_total_usd: 0.25 } },
    { method: "DELETE", path: `/api/sessions/${id}`, token, body: null },
  ]);
});

test("waits 5, 10, 20, 40 and then 60 seconds between attempts, and says why", async () => {
  const program = await startProgram(asking);
  const receiver = await receive({ answer: () => ({ status: 503 }) });
  const clock = createHastyClock(7, () => running.stop());
  const running = run(program, receiver, { clock });
  expect((await running.exit).code).toBe(0);
  expect(clock.asked).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  expect(running.logged[0]).toContain("registering was answered 503");
  // Nothing was registered, so nothing is removed.
  expect(receiver.calls.every(({ method }) => method === "POST")).toBe(true);
});

test("starts at 5 seconds again after an attachment", async () => {
  const clock = createManualClock();
  let answers = 0;
  const program = await startProgram(asking);
  const receiver = await receive({ answer: () => (++answers < 3 ? { status: 500 } : undefined) });
  const { bridge } = run(program, receiver, { clock });
  await until(() => clock.asked.length === 1);
  expect(bridge.status()).toMatchObject({ state: "waiting", error: "registering was answered 500" });
  clock.pass(5_000);
  await until(() => clock.asked.length === 2);
  clock.pass(10_000);
  await receiver.attached();
  expect(bridge.status()).not.toHaveProperty("error");
  await receiver.kill();
  await until(() => clock.asked.at(-1) !== HEARTBEAT);
  await receiver.start();
  expect(clock.asked.filter((ms) => ms !== HEARTBEAT)).toEqual([5_000, 10_000, 5_000]);
});

test("registers again when the remote has forgotten the session", async () => {
  const clock = createManualClock();
  let forgotten = true;
  const program = await startProgram(asking);
  const receiver = await receive({
    answer: ({ path }) => (forgotten && path.endsWith("/heartbeat") ? { status: 404 } : undefined),
  });
  run(program, receiver, { clock });
  await receiver.attached();
  await until(() => clock.asked.length === 1);
  clock.pass(HEARTBEAT);
  await until(() => clock.asked.includes(5_000));
  forgotten = false;
  clock.pass(5_000);
  await receiver.attached();
  expect(receiver.calls.filter(({ path }) => path === "/api/sessions")).toHaveLength(2);
});

test("a failed heartbeat does not end a working connection", async () => {
  const clock = createManualClock();
  const program = await startProgram(asking);
  const receiver = await receive({
    answer: ({ path }) => (path.endsWith("/heartbeat") ? { status: 502 } : undefined),
  });
  const { bridge, logged } = run(program, receiver, { clock });
  await receiver.attached();
  await until(() => clock.asked.length === 1);
  clock.pass(HEARTBEAT);
  await until(() => clock.asked.length === 2);
  expect(bridge.status()).toMatchObject({ state: "connected" });
  expect(logged.at(-1)).toContain("the heartbeat was answered 502");
});

test("a remote that answers no ping between two heartbeats counts as lost", async () => {
  const clock = createManualClock();
  const program = await startProgram(asking);
  const receiver = await receive();
  const { logged } = run(program, receiver, { clock });
  await receiver.attached();
  receiver.stall(true);
  for (let beat = 1; beat <= 3 && !clock.asked.includes(5_000); beat++) {
    await until(() => clock.asked.length === beat);
    clock.pass(HEARTBEAT);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await until(() => clock.asked.includes(5_000));
  expect(logged.at(-1)).toContain("the remote went silent");
  clock.pass(5_000);
  await receiver.attached();
});
