// Bundles the plugin for a browser, runs the bundle where Node is not, and checks what it made of the conversation.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = import.meta.dirname;
const { outputFiles, metafile } = await build({
  entryPoints: [`${here}/plugin.mjs`],
  absWorkingDir: `${here}/../..`,
  bundle: true,
  minify: true,
  platform: "browser",
  format: "iife",
  globalName: "plugin",
  metafile: true,
  write: false,
});
const code = outputFiles[0].text;

const foreign = Object.keys(metafile.inputs).filter((path) => !/plugin\.mjs$|acp-schema\/|valibot/.test(path));
assert.deepEqual(foreign, [], "only the schemas and valibot are in the bundle");

const page = createContext({});
runInContext(code, page);
page.lines = readFileSync(`${here}/conversation.ndjson`, "utf8").trimEnd().split("\n");
const panel = JSON.parse(runInContext("JSON.stringify(plugin.readConversation(lines))", page));

assert.equal(panel.text, "Done, one file.");
assert.equal(panel.thought, "The README first.");
assert.equal(panel.stopReason, "end_turn");
assert.deepEqual(
  panel.tools,
  { "call-1": { title: "Edit README.md", status: "completed" } },
  "an unknown kind reads as none",
);
assert.deepEqual(panel.plan, [{ content: "Read README.md", priority: "medium", status: "in_progress" }]);
assert.deepEqual(panel.asked, [{ title: "Edit README.md", options: ["allow_once", "reject_once"] }]);
assert.deepEqual(panel.cost, { amount: 0.01, currency: "USD" });
assert.equal(panel.ignored, 1, "an update of a later protocol is passed over");

const bytes = gzipSync(code, { level: 9 }).byteLength;
assert.ok(bytes <= 6000, `the bundle has ${bytes} bytes`);
console.log(`conversation read; bundle ${(code.length / 1000).toFixed(1)} kB, gzip ${(bytes / 1000).toFixed(1)} kB`);
