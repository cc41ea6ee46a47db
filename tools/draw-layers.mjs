#!/usr/bin/env node
// Draws layers.json into docs/ARCHITECTURE.md, between its two markers. `--check` only says whether the drawing is true.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../scripts/gate.mjs";

const document = "docs/ARCHITECTURE.md";
const [begin, end] = ["<!-- layers: drawn by tools/draw-layers.mjs -->", "<!-- end of layers -->"];
const root = process.argv.slice(2).find((argument) => !argument.startsWith("-")) ?? repositoryRoot;

const text = readFileSync(join(root, document), "utf8");
const layers = JSON.parse(readFileSync(join(root, "layers.json"), "utf8"));
const drawn = replaceBetween(text, `\n\`\`\`text\n${draw(layers.packages)}\n\`\`\`\n`);

if (!process.argv.includes("--check")) writeFileSync(join(root, document), drawn);
else if (drawn === text) console.log(`${document} shows layers.json`);
else {
  console.error(`${document} does not show layers.json: run \`npm run layers:draw\``);
  process.exitCode = 1;
}

function draw(packages) {
  const levels = [...new Set(Object.values(packages))].toSorted((a, b) => b - a);
  return levels
    .map((level) => {
      const names = Object.keys(packages).filter((dir) => packages[dir] === level);
      return `${level}  ${names.map((dir) => dir.replace("packages/", "").padEnd(16)).join("")}`.trimEnd();
    })
    .join("\n");
}

function replaceBetween(whole, middle) {
  const [from, to] = [whole.indexOf(begin), whole.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${document} lacks the markers ${begin} … ${end}`);
  return whole.slice(0, from + begin.length) + middle + whole.slice(to);
}
