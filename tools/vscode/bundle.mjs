#!/usr/bin/env node
// Bundles the VS Code extension into one file: VS Code loads it as CommonJS, and brings `vscode` itself.
import { join } from "node:path";
import { build } from "esbuild";

const app = join(import.meta.dirname, "..", "..", "apps", "vscode");

await build({
  entryPoints: [join(app, "src", "extension.ts")],
  outfile: join(app, "dist", "extension.cjs"),
  bundle: true,
  minify: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  legalComments: "eof",
});
