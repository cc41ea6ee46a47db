import { defineConfig } from "tsup";

// One split bundle: each command is a chunk of its own, loaded when it is used.
export default defineConfig({
  entry: { cli: "src/main.ts" },
  format: ["esm"],
  target: "node20",
  platform: "node",
  clean: true,
  splitting: true,
  treeshake: true,
  noExternal: [/.*/],
  external: ["@vscode/ripgrep"],
  // vscode-jsonrpc is CommonJS: inside an ES bundle its require() calls need a real one.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
});
