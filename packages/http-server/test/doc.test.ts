import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("docs/http.md matches the schemas and the routes", () => {
  const script = join(import.meta.dirname, "..", "scripts", "write-http-doc.mjs");
  expect(() => execFileSync(process.execPath, [script, "--check"], { stdio: "pipe" })).not.toThrow();
});
