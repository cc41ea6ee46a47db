import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

test("an example that runs passes, an unmarked fence is not run", () => {
  const root = scratchTree({
    "README.md": '```js\n// example\nimport "node:fs";\n```\n\n```js\nthrow new Error("a sketch");\n```\n',
  });
  expect(runScript("check-examples.mjs", root)).toMatchObject({ code: 0, stdout: "1 examples run\n" });
});

test("an example sees the package of its own README", () => {
  const root = scratchTree({
    "packages/a/package.json": { name: "@chimera/a", type: "module", exports: { ".": "./index.js" } },
    "packages/a/index.js": "export const answer = 42;\n",
    "packages/a/README.md":
      '```js\n// example\nimport { answer } from "@chimera/a";\nif (answer !== 42) process.exit(1);\n```\n',
  });
  expect(runScript("check-examples.mjs", root)).toMatchObject({ code: 0, stderr: "" });
});

test("a program below examples/ that fails is named", () => {
  const root = scratchTree({ "examples/a/main.mjs": "process.exit(3);\n", "examples/b/main.mjs": "" });
  const { code, stderr } = runScript("check-examples.mjs", root);
  expect(stderr).toBe("examples/a/main.mjs:1 the example ended with 3\n\n");
  expect(code).toBe(1);
});

test("an example that fails is named by file and line, with what it said", () => {
  const root = scratchTree({ "docs/a.md": '# A\n\n```js\n// example\nthrow new Error("stale");\n```\n' });
  const { code, stderr } = runScript("check-examples.mjs", root);
  expect(stderr).toContain("docs/a.md:4 the example ended with 1");
  expect(stderr).toContain("stale");
  expect(code).toBe(1);
});

test("a path written as code that is not in the tree fails", () => {
  const { code, stderr } = runScript("check-docs.mjs", scratchTree({ "README.md": "Look at `packages/gone/src`.\n" }));
  expect(stderr).toContain("README.md:1 speaks of packages/gone/src, which does not exist");
  expect(code).toBe(1);
});

test("a page that nothing links to fails", () => {
  const root = scratchTree({ "docs/lonely.md": "# Lonely\n\n[itself](lonely.md)\n" });
  expect(runScript("check-docs.mjs", root).stderr).toContain("docs/lonely.md:1 is linked from no other document");
});

const page = (link: string) =>
  scratchTree({ "README.md": `# A\n\nSee [there](${link}).\n\n[b](docs/b.md)\n`, "docs/b.md": "## To go: *now*\n" });

test.each(["docs/b.md", "docs/b.md#to-go-now", "docs", "#a", "https://example.com/none"])(
  "a link to %s passes",
  (link) => {
    expect(runScript("check-docs.mjs", page(link))).toMatchObject({ code: 0, stderr: "" });
  },
);

test.each(["docs/c.md", "docs/b.md#gone"])("a link to %s fails and names the line", (link) => {
  const { code, stderr } = runScript("check-docs.mjs", page(link));
  expect(stderr).toContain(`README.md:3 links to ${link}`);
  expect(code).toBe(1);
});

const architecture = (middle: string) =>
  `# A\n\n<!-- layers: drawn by scripts/draw-layers.mjs -->${middle}<!-- end of layers -->\n`;

test("the layer diagram is drawn, and a stale one fails", () => {
  const root = scratchTree({
    "docs/ARCHITECTURE.md": architecture("\nold\n"),
    "layers.json": { packages: { "packages/log": 0, "packages/engine": 1, "apps/prog": 2 } },
  });
  expect(runScript("draw-layers.mjs", root, "--check")).toMatchObject({ code: 1 });
  runScript("draw-layers.mjs", root);
  expect(runScript("draw-layers.mjs", root, "--check")).toMatchObject({ code: 0, stderr: "" });
});
