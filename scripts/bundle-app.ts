/** How both programs are bundled: from the packages' sources, so that each command's chunk holds only the modules it uses. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Options } from "tsup";

const packages = join(dirname(fileURLToPath(import.meta.url)), "..", "packages");

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default: string } | string>>;
}

/** `@chimera/agent/providers` -> `packages/agent/src/providers/index.ts`, by the package's own export map. */
function sourceOf(specifier: string): string {
  const [, name = "", ...rest] = specifier.split("/");
  const folder = join(packages, name);
  if (specifier.endsWith(".json")) return join(folder, ...rest);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const entry = manifest.exports[rest.length > 0 ? `./${rest.join("/")}` : "."];
  if (typeof entry !== "object") throw new Error(`${specifier} is no export of ${name}`);
  return join(folder, entry.default.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
}

const options: Options = {
  entry: { cli: "src/main.ts" },
  format: ["esm"],
  target: "node20",
  platform: "node",
  clean: true,
  splitting: true,
  treeshake: false,
  noExternal: [/.*/],
  external: ["@vscode/ripgrep"],
  // CommonJS parts of the bundle call require(), which an ES module has to make for itself.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  esbuildPlugins: [
    {
      name: "workspace-sources",
      setup: (build) =>
        build.onResolve({ filter: /^@chimera\// }, ({ path }) => ({ path: sourceOf(path), sideEffects: false })),
    },
  ],
};

export default options;
