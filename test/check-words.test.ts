import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

/** Written apart, because the gate reads this file too. */
const spoilt = (text: string) => text.replaceAll("_", "");

test("a retired phrase is named with its line and what to write, also across the lines of a comment", () => {
  const root = scratchTree({
    "README.md": "There is no server, it is no longer here, and no word of hours.\n",
    "packages/a/src/a.ts": spoilt("/**\n * Fails who_ever waits, as the client is\n * to_ld.\n */\n"),
    "docs/page.md": spoilt("# Page\n\nA file that is n_o log, right beh_ind one of o_urs.\n"),
    "docs/decisions/0001-old.md": spoilt("It was to_ld.\n"),
    "test/fixtures/old.md": spoilt("It was to_ld.\n"),
  });
  const { code, stderr } = runScript("check-words.mjs", root);
  expect(
    stderr
      .trim()
      .split("\n")
      .map((line) => line.split('"')[0]! + line.split('"')[1]),
  ).toEqual([
    spoilt("docs/page.md:3 says of o_urs"),
    spoilt("docs/page.md:3 says right beh_ind"),
    spoilt("docs/page.md:3 says is n_o log"),
    spoilt("packages/a/src/a.ts:2 says who_ever"),
    spoilt("packages/a/src/a.ts:2 says is to_ld"),
  ]);
  expect(code).toBe(1);
  const sound = scratchTree({ "README.md": "There is no server.\n" });
  expect(runScript("check-words.mjs", sound)).toMatchObject({ code: 0, stderr: "" });
});
