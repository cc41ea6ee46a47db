// Bundles a program from the packages' sources, in three passes:
//
// - `cli.js` tells the version, and otherwise hands over at once;
// - `program.js` is whatever answers the first message, in one file: a start opens nothing else, which is worth more than
//   any minifier;
// - `lazy/` is what is imported later, split by module.
//
// The first two are CommonJS, because Node starts an ES module about ten milliseconds later. Code that both sides use is
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

/** Leaves every import on demand that is no part of a start to the second pass, and remembers it. */
const leaveForLater = (later) => ({
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
      if (STARTS.includes(place)) return { path };
      const name = place
        .replace(/^(\.\.\/)+/, "")
        .replace(/\.ts$/, "")
        .replace(/[^\w]+/g, "-");
      later.set(name, path);
      return { path: `./lazy/${name}.mjs`, external: true };
    });
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
  esbuildPlugins: [leaveForLater(later), workspaceSources],
});
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
});
