// Bundles a program from the packages' sources:
//
// - `cli.js` tells the version, and otherwise hands over at once;
// - `program.js` is whatever answers the first message, in one file: a start opens nothing else, which is worth more than
//   any minifier;
// - `engine.js` is whatever a session needs and `turn.js` whatever its first answer does, one file each for the same reason;
//   `http.js` binds a port and answers probes; `app.js` answers the rest;
// - `lazy/` is what is imported later, split by module.
//
// All but the last are CommonJS, because Node starts an ES module about ten milliseconds later. Code that both sides use is
// there twice; errors and symbols are compared by brand, so that costs bytes and nothing more.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";

const packages = join(dirname(fileURLToPath(import.meta.url)), "..", "packages");

/** Imported on demand in the sources, but part of every start over stdio. */
const STARTS = [
  "host/src/command/parse.ts",
  "host/src/serve/serve.ts",
  "host/src/serve/acp.ts",
  "../apps/ferret/src/extensions.ts",
];

/** Imported on demand, and worth a file of their own: what is taken from where, and what they import on demand in turn. */
const FILES = {
  http: {
    exports: {
      "host/src/serve/take-port.ts": ["refuseSecond", "takePort"],
      "host/src/serve/http.ts": ["listenHttp"],
    },
    parts: ["@hono/node-server"],
  },
  engine: {
    exports: {
      "host/src/engine.ts": ["createEngine"],
      "acp-server/src/standard/methods.ts": ["standardMethods"],
      "agent/src/providers/index.ts": ["anthropicFirst", "openaiFirst"],
    },
    parts: [],
  },
  turn: {
    exports: {
      "host/src/coding-agent.ts": ["openCodingAgent"],
      "../apps/ferret/src/approval/narrow.ts": ["approvalParts"],
      "../apps/ferret/src/confinement/agent-parts.ts": ["confinementParts"],
    },
    parts: [
      ...["messages/model", "chat", "responses", "gemini", "ollama"].map((name) => `wires/${name}`),
      ...["offline/model", "post", "prices"],
    ].map((name) => `agent/src/providers/${name}.ts`),
  },
  app: { exports: { "http-server/src/index.ts": ["createApp"] }, parts: [] },
};

/** `@chimera/agent/providers` -> `packages/agent/src/providers/index.ts`, by the package's own export map; data has no source. */
function sourceOf(specifier) {
  const [, name, ...rest] = specifier.split("/");
  const manifest = JSON.parse(readFileSync(join(packages, name, "package.json"), "utf8"));
  const entry = manifest.exports[rest.length > 0 ? `./${rest.join("/")}` : "."];
  return entry?.default && join(packages, name, entry.default.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
}

const workspaceSources = {
  name: "workspace-sources",
  setup: ({ onResolve }) =>
    void onResolve({ filter: /^@chimera\// }, ({ path }) => {
      const source = sourceOf(path);
      return source && { path: source, sideEffects: false };
    }),
};

/** Leaves every import on demand that is not among `parts` to the file it belongs to, or to the last pass. */
const leaveForLater = (parts) => ({
  name: "leave-for-later",
  setup(bundle) {
    bundle.onResolve({ filter: /.*/ }, async (args) => {
      if (args.kind !== "dynamic-import" || args.path.startsWith("node:") || args.pluginData === "resolved") return;
      const { path } = await bundle.resolve(args.path, {
        kind: args.kind,
        importer: args.importer,
        resolveDir: args.resolveDir,
        pluginData: "resolved",
      });
      const place = relative(packages, path);
      if (parts.includes(place) || parts.includes(args.path)) return { path };
      const [file] = Object.entries(FILES).find(([, { exports }]) => place in exports) ?? [];
      // One that is made already was not expected to need more.
      if (file && !made.has(file)) {
        reached[file].set(path, FILES[file].exports[place]);
        return { path: file, namespace: "own-file" };
      }
      const name = place
        .replace(/^(\.\.\/)+/, "")
        .replace(/\.ts$/, "")
        .replace(/[^\w]+/g, "-");
      later.set(name, path);
      return { path: `./lazy/${name}.mjs`, external: true };
    });
    // A require() that runs when the import is reached: it does not wake the loader of ES modules.
    bundle.onLoad({ filter: /.*/, namespace: "own-file" }, ({ path }) => ({
      contents: `module.exports = require("./${path}.js");`,
    }));
    bundle.onResolve({ filter: /.*/, namespace: "own-file" }, ({ path }) => ({ path, external: true }));
  },
});

const common = {
  config: false,
  silent: true,
  target: "node20",
  platform: "node",
  noExternal: [/.*/],
  external: ["@vscode/ripgrep"],
};

const first = {
  ...common,
  format: ["cjs"],
  outExtension: () => ({ js: ".js" }),
  splitting: false,
  minify: true,
};

const handOver = {
  name: "hand-over",
  setup: ({ onResolve }) => void onResolve({ filter: /^\.\/program\.js$/ }, ({ path }) => ({ path, external: true })),
};

const later = new Map();
const made = new Set();
const reached = Object.fromEntries(Object.keys(FILES).map((file) => [file, new Map()]));
await build({
  ...first,
  entry: { cli: "src/main.ts" },
  clean: true,
  esbuildPlugins: [handOver, workspaceSources],
  // The import of the program becomes a require(), which does not wake the loader of ES modules.
  esbuildOptions(options) {
    options.supported = { "dynamic-import": false };
  },
});
await build({
  ...first,
  entry: { program: "src/program.ts" },
  esbuildPlugins: [leaveForLater(STARTS), workspaceSources],
});
for (const [file, { parts }] of Object.entries(FILES)) {
  made.add(file);
  // It begins as the list of what it exports.
  const list = [...reached[file]].map(([path, names]) => `export { ${names} } from ${JSON.stringify(path)};\n`);
  writeFileSync(`dist/${file}.js`, list.join(""));
  await build({
    ...first,
    entry: { [file]: `dist/${file}.js` },
    esbuildPlugins: [leaveForLater(parts), workspaceSources],
  });
}
writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
await build({
  ...common,
  entry: Object.fromEntries(later),
  format: ["esm"],
  outExtension: () => ({ js: ".mjs" }),
  outDir: "dist/lazy",
  splitting: true,
  // CommonJS parts of a bundle call require(), which an ES module has to make for itself.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  esbuildPlugins: [workspaceSources],
  // Names stay: a stack in a report of a fault should be readable.
  esbuildOptions(options) {
    options.minifyWhitespace = true;
    options.minifySyntax = true;
  },
});
