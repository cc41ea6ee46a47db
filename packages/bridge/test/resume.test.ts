import { expect, test } from "vitest";
import { counting, startProgram } from "./program.js";
import { receive, run } from "./running.js";
import { until } from "./until.js";

test("killing the receiver ten times in mid-stream loses nothing, repeats nothing and keeps the order", async () => {
  let more = true;
  const counted = counting(() => more);
  const program = await startProgram(counted.agent);
  const receiver = await receive();
  run(program, receiver);
  await receiver.attached();
  program.session.prompt({ text: "count" });

  for (let killing = 0; killing < 10; killing++) {
    const seen = receiver.cursor;
    await until(() => receiver.cursor > seen);
    await receiver.kill();
    await new Promise((resolve) => setTimeout(resolve, 15));
    await receiver.start();
  }
  more = false;
  await program.session.idle();
  const last = `${counted.count - 1} `;
  const texts = () =>
    receiver.updates
      .filter(({ update }) => update.sessionUpdate === "agent_message_chunk")
      .map(({ update }) => update.content?.text);
  await until(() => texts().at(-1) === last);

  expect(texts()).toEqual(Array.from({ length: counted.count }, (_, n) => `${n} `));
  const ids = receiver.updates.map(({ eventId }) => eventId).filter(Boolean);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
}, 30_000);

test("records from before the first attachment are replayed after it", async () => {
  const counted = counting((n) => n < 2000);
  const program = await startProgram(counted.agent);
  program.session.prompt({ text: "count" });
  await program.session.idle();
  const receiver = await receive();
  run(program, receiver);
  await receiver.attached();
  const texts = receiver.updates.map(({ update }) => update.content?.text);
  expect(texts[0]).toBe("count");
  expect(texts.slice(1, 2001).at(-1)).toBe("1999 ");
});

test("a remote that stops reading blocks nobody, and gets the rest when it reads again", async () => {
  const piece = "x".repeat(32 * 1024);
  const count = 150;
  const program = await startProgram(async function* () {
    for (let n = 0; n < count; n++) {
      if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      yield { type: "text_delta", metadata: { text: `${n} ${piece}` } };
    }
  });
  const receiver = await receive();
  run(program, receiver);
  await receiver.attached();
  receiver.stall(true);
  program.session.prompt({ text: "flood" });
  await program.session.idle();
  const chunks = () => receiver.updates.filter(({ update }) => update.sessionUpdate === "agent_message_chunk");
  expect(chunks().length).toBeLessThan(count);
  receiver.stall(false);
  await until(() => chunks().length === count);
  expect(chunks().map(({ update }) => Number.parseInt(update.content?.text ?? "", 10))).toEqual(
    Array.from({ length: count }, (_, n) => n),
  );
});
