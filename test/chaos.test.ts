/** A minute of a bad day; `npm run test:chaos` is an hour of it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";

test("a minute of kills, freezes, cut links and set clocks loses nothing that was acknowledged", {
  tags: ["needs-linux"],
  timeout: 180_000,
}, async () => {
  const args = [join(import.meta.dirname, "chaos", "chaos.mjs"), "--minutes", "0.9", "--people", "4"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      // The seed is needed most when this ends badly.
      if (text.includes("--seed")) process.stdout.write(text);
    });
  const [code] = await once(child, "close");
  expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining("passed") });
});
