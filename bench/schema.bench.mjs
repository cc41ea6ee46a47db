// The protocol schemas: how long it takes to have them, how fast they read and write, what they weigh in a browser.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { cleanEnv, interleave, median, row } from "./report.mjs";

const folder = new URL("../packages/acp-schema/", import.meta.url);
const require = createRequire(new URL("package.json", folder));
const sdk = pathToFileURL(require.resolve("@agentclientprotocol/sdk/schema/v1/schema.json"));
const zod = new URL("../../dist/v1/schema/zod.gen.js", sdk).href;
const ours = new URL("dist/index.js", folder).href;

const { SessionNotification, strict } = await import(ours);
const { zSessionNotification } = await import(zod);

const frame = {
  sessionId: "otter-20261116T020000-1a2b3c4d",
  update: {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: "forty characters of text, or so it seems" },
  },
};
const line = JSON.stringify(frame);
const rounds = 20_000;

/** Frames a second. */
const rate = (work) => () => {
  const started = performance.now();
  for (let round = 0; round < rounds; round++) work();
  return rounds / ((performance.now() - started) / 1000);
};

const writing = strict(SessionNotification);
const speeds = await interleave(
  {
    parse: rate(() => JSON.parse(line)),
    read: rate(() => SessionNotification["~standard"].validate(JSON.parse(line))),
    write: rate(() => writing["~standard"].validate(frame)),
    sdk: rate(() => zSessionNotification.safeParse(JSON.parse(line))),
  },
  { runs: 8, warmup: 2 },
);
row({
  name: "schema: read an update / JSON.parse alone",
  ours: median(speeds.read),
  floor: median(speeds.parse),
  unit: "/s",
  better: "higher",
});
row({
  name: "schema: read an update / the SDK's reader",
  ours: median(speeds.read),
  floor: median(speeds.sdk),
  unit: "/s",
  target: 2,
  better: "higher",
});
row({
  name: "schema: write an update / JSON.parse alone",
  ours: median(speeds.write),
  floor: median(speeds.parse),
  unit: "/s",
  better: "higher",
});

const bundles = {
  ours: await bundle(`export * from ${JSON.stringify(new URL(ours).pathname)}`),
  sdk: await bundle(`export * from ${JSON.stringify(new URL(zod).pathname)}`),
  empty: "export {}",
};
const scratch = mkdtempSync(join(tmpdir(), "chimera-bench-"));
const imports = await interleave(
  Object.fromEntries(Object.entries(bundles).map(([name, code]) => [name, () => importTime(name, code)])),
  { runs: 9 },
);
rmSync(scratch, { recursive: true });
row({
  name: "schema: import, bundled / the SDK's",
  ours: median(imports.ours),
  floor: median(imports.sdk),
  unit: "ms",
  target: 0.5,
});
row({
  name: "schema: import, bundled / an empty module",
  ours: median(imports.ours),
  floor: median(imports.empty),
  unit: "ms",
});
row({
  name: "schema: all of ACP, gzip / the SDK's",
  ours: weigh(bundles.ours),
  floor: weigh(bundles.sdk),
  unit: "kB",
  target: "10 kB",
});

const one = `export { SessionNotification } from ${JSON.stringify(new URL(ours).pathname)}`;
row({ name: "schema: one schema, gzip", ours: weigh(await bundle(one)), unit: "kB", target: "6 kB" });

async function bundle(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
  });
  return outputFiles[0].text;
}

/** In a process of its own: the first import is the one that counts. */
function importTime(name, code) {
  const module = join(scratch, `${name}.mjs`);
  writeFileSync(module, code);
  const program =
    "const started = performance.now(); await import(process.argv[1]); console.log(performance.now() - started)";
  const args = ["--input-type=module", "-e", program, pathToFileURL(module).href];
  return Number(spawnSync(process.execPath, args, { encoding: "utf8", env: cleanEnv() }).stdout);
}

function weigh(code) {
  return gzipSync(code, { level: 9 }).byteLength / 1000;
}
