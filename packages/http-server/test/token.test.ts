import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { createLife, createSessionTokens, digest, type TokenHashes } from "../src/auth/token.js";
import { LIMITS } from "../src/limits.js";

test("only a limited number of unused shared tokens stay in memory, and all of them stay valid", async () => {
  const stored = new Map<string, { hash: Buffer; by: string | null }>();
  const hashes: TokenHashes = {
    read: async (id) => stored.get(id) ?? null,
    write: async (id, token) => void stored.set(id, token),
    remove: async (id) => void stored.delete(id),
    onVoid() {},
  };
  const ann = createLife();
  const sessions = { onLoad: () => () => {}, logs: { lastSeq: async () => 0 } };
  const session = { persistent: true, ended: new Promise<void>(() => {}), isLetGo: false, lastSeq: 0 };
  const tokens = createSessionTokens(sessions, hashes, async () => ann.signal);
  const issue = async (id: string) => digest(await tokens.issue({ id, ...session }, { life: ann.signal, by: "ann" }));
  const first = await issue("first");
  const used = await issue("used");
  let isCut = false;
  (await tokens.check("used", used))?.addEventListener("abort", () => {
    isCut = true;
  });
  const more = LIMITS.rememberedTokens + 10;
  for (let n = 0; n < more; n++) await issue(`session-${n}`);
  // Each that is kept ends with its giver's token: once by the life that was given, once by the list.
  expect(getEventListeners(ann.signal, "abort").length).toBeLessThanOrEqual(LIMITS.rememberedTokens);
  expect(isCut).toBe(false);
  expect((await tokens.check("first", first))?.aborted).toBe(false);
  ann.abort();
  await expect.poll(() => [isCut, stored.has("first"), stored.has("used")]).toEqual([true, false, false]);
});
