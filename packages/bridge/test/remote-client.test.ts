import { isLost } from "@chimera/acp-schema/events";
import { expect, test } from "vitest";
import { asking, type Program, startProgram } from "./program.js";
import { receive, run } from "./running.js";
import { until } from "./until.js";

const allow = async () => ({ outcome: { outcome: "selected", optionId: "allow_once" } });
const ask = (sessionId: string) => ({ sessionId, prompt: [{ type: "text", text: "do it" }] });

test("a remote prompts and answers; its records carry its origin, and it sees its own prompt", async () => {
  const program = await startProgram(asking);
  const receiver = await receive({ onPermission: allow });
  run(program, receiver);
  const connection = await receiver.attached();
  await expect(connection.request("session/prompt", ask(program.session.id))).resolves.toMatchObject({
    stopReason: "end_turn",
  });
  await connection.request("_chimera.dev/session/undo", { sessionId: program.session.id });
  const records = await recordsOf(program);
  const origins = new Map(records.map(({ type, origin }) => [type, origin]));
  expect(origins.get("user_message")).toBe("bridge");
  expect(origins.get("permission_resolved")).toBe("bridge");
  expect(origins.get("undo")).toBe("bridge");
  expect(receiver.updates.find(({ update }) => update.sessionUpdate === "user_message_chunk")).toMatchObject({
    origin: "bridge",
    update: { content: { text: "do it" } },
  });
});

test("a question goes to both sides; the first answer counts and withdraws it from the other", async () => {
  const program = await startProgram(asking);
  let asked = false;
  let withdrawn = false;
  const receiver = await receive({
    onPermission: (_params, signal) =>
      new Promise((_, reject) => {
        asked = true;
        signal.addEventListener("abort", () => {
          withdrawn = true;
          reject(new Error("withdrawn"));
        });
      }),
  });
  run(program, receiver);
  await receiver.attached();
  program.session.prompt({ text: "do it" });
  await until(() => asked);
  const [permissionId] = program.session.openPermissions.keys();
  await program.session.answer(permissionId!, "allow");
  await program.session.idle();
  await until(() => withdrawn);
  const resolved = (await recordsOf(program)).filter(({ type }) => type === "permission_resolved");
  expect(resolved).toHaveLength(1);
  expect(resolved[0]).not.toHaveProperty("origin");
});

test("a receiver that dies with an unanswered question gets it again when it is back", async () => {
  const program = await startProgram(asking);
  let asked = 0;
  const receiver = await receive({ onPermission: () => (++asked === 1 ? new Promise(() => {}) : allow()) });
  run(program, receiver);
  const connection = await receiver.attached();
  connection.request("session/prompt", ask(program.session.id)).catch(() => {});
  await until(() => asked === 1);
  await receiver.kill();
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(program.session.openPermissions.size).toBe(1);
  await receiver.start();
  await program.session.idle();
  expect(asked).toBe(2);
  expect(program.session.conversation.turns[0]?.result).toMatchObject({ output: "decided allow" });
});

test("lines from the remote that are not JSON-RPC get an error and do no harm", async () => {
  const program = await startProgram(asking);
  const receiver = await receive();
  run(program, receiver);
  const connection = await receiver.attached();
  for (const line of ["", "{", "[]", '{"jsonrpc":"2.0","id":1}', "\u0000", `"${"x".repeat(100_000)}"`]) {
    connection.notifyEncoded(line);
  }
  await expect(
    connection.request("_chimera.dev/session/replay", { sessionId: program.session.id }),
  ).resolves.toMatchObject({ sessionId: program.session.id });
});

async function recordsOf({ session, sessions }: Program) {
  const records: { type: string; origin?: string }[] = [];
  const subscription = sessions.logs.follow(session.id, { from: 0 }, (batch) => {
    for (const entry of batch) if (!isLost(entry)) records.push(entry.event);
  });
  await until(() => records.length >= session.lastSeq);
  subscription.close();
  return records;
}
