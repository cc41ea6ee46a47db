#!/usr/bin/env node
// Bundles src/page into the files of the page: names that change with their content, everything compressed once. They become one module,
// dist/page-files.gen.js, so that a program that bundles the package has its page.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";
import { bundledPackages, writeNotices } from "../../../scripts/write-notices.mjs";

const root = resolve(import.meta.dirname, "..");
const source = join(root, "src", "page");
const dist = join(root, "dist");

const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

const { outputFiles, metafile } = await build({
  entryPoints: [join(source, "main.tsx"), join(source, "style.css")],
  outdir: dist,
  absWorkingDir: root,
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "warning",
});
const assets = outputFiles.map(({ path, contents }) => ({ name: basename(path), contents: Buffer.from(contents) }));
const icon = hashed("icon.svg", readFileSync(join(source, "icon.svg")));
const manifest = hashed(
  "page.webmanifest",
  Buffer.from(readFileSync(join(source, "page.webmanifest"), "utf8").replace("icon.svg", icon.name)),
);
assets.push(icon, manifest);

/** The name that a file of the sources has in the page. */
const named = (start, end) => assets.find(({ name }) => name.startsWith(start) && name.endsWith(end)).name;
const html = readFileSync(join(source, "index.html"), "utf8").replace(/\{\{(\w+)(\.\w+)\}\}/g, (_, start, end) =>
  named(start, end),
);
const files = [
  { path: "/", name: "index.html", contents: Buffer.from(html), immutable: false },
  ...assets.map((asset) => ({ ...asset, path: `/assets/${asset.name}`, immutable: true })),
].map(({ path, name, contents, immutable }) => ({
  path,
  type: TYPES[extname(name)],
  immutable,
  brotli: compress(contents).toString("base64"),
}));

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
// A program that bundles this module bundles these packages: scripts/write-notices.mjs reads the lines.
const origins = bundledPackages([metafile], root).map(({ name, home }) => {
  const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return `// Written by build-page.mjs from ${name} ${version}`;
});
writeFileSync(
  join(dist, "page-files.gen.js"),
  `${origins.join("\n")}\nexport const files = ${JSON.stringify(files)};\n`,
);
writeNotices(dist, [metafile], root);

function hashed(file, contents) {
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 8).toUpperCase();
  const extension = extname(file);
  return { name: `${basename(file, extension)}-${hash}${extension}`, contents };
}

function compress(contents) {
  return brotliCompressSync(contents, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
    },
  });
}
