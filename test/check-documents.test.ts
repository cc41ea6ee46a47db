import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runScript, runScriptWith, scratchTree } from "./scratch.js";

const ARCHITECTURE = "# A\n\n<!-- layers: drawn by tools/draw-layers.mjs -->\nold\n<!-- end of layers -->\n";

test("documents whose links lead somewhere and whose examples run pass; others fail at their lines", {
  tags: ["needs-unix", "needs-curl"],
}, () => {
  const root = (link: string, example: string, command: string, need = "needs-unix") =>
    scratchTree({
      "docs/guide/README.md": "# Guide\n\n| page |\n|---|\n| [Others](../others.md) |\n\nSee [this](../not-run.md).\n",
      "docs/others.md": `# Others\n\n\`\`\`sh ${need}\n${command}\n\`\`\`\n`,
      "docs/not-run.md": "# Not run\n\n```sh\nfalse\n```\n",
      "docs/guide/first.md": `# First\n\n\`\`\`sh\nmade=here\n\`\`\`\n\n\`\`\`sh\ntest $made = here\n${command}\n\`\`\`\n`,
      "README.md": `# A\n\nSee [there](${link}) and [here](docs/guide/first.md), [all](docs/guide/README.md).\n\n\`\`\`js\n// example\n${example}\n\`\`\`\n`,
      "docs/ARCHITECTURE.md": ARCHITECTURE,
      "layers.json": { packages: { "packages/log": 0, "apps/prog": 1 } },
    });
  const sound = root("docs/ARCHITECTURE.md#a", 'import "node:fs";', "test -d .");
  expect(runScript("check-docs.mjs", sound)).toMatchObject({ code: 0, stderr: "" });
  expect(runScript("check-examples.mjs", sound)).toMatchObject({
    code: 0,
    stdout: "1 examples and 3 pages of the guide run\n",
  });
  runScript("../tools/draw-layers.mjs", sound);
  expect(runScript("../tools/draw-layers.mjs", sound, "--check")).toMatchObject({ code: 0, stderr: "" });

  const broken = root("docs/gone.md", 'throw new Error("stale");', "echo outdated; false");
  const links = runScript("check-docs.mjs", broken);
  expect(links.stderr).toContain("README.md:3 links to docs/gone.md");
  const examples = runScript("check-examples.mjs", broken);
  expect(examples.stderr).toMatch(/README\.md:6 the example ended with 1[\s\S]*stale/);
  expect(examples.stderr).toMatch(/docs\/guide\/first\.md:1 its commands ended with 1[\s\S]*outdated/);
  expect(examples.stderr).toMatch(/docs\/others\.md:1 its commands ended with 1[\s\S]*outdated/);
  const drawing = runScript("../tools/draw-layers.mjs", broken, "--check");
  expect([links.code, examples.code, drawing.code]).toEqual([1, 1, 1]);
});

test("a block of the guide whose need is missing is named, and a need that nobody knows is a mistake", {
  tags: ["needs-unix"],
}, () => {
  const page = (need: string) =>
    scratchTree({ "docs/guide/a.md": `# A\n\n\`\`\`sh\ntrue\n\`\`\`\n\n\`\`\`sh ${need}\nfalse\n\`\`\`\n` });
  const bin = scratchTree({});
  for (const name of ["sh", "curl"]) symlinkSync("/bin/sh", join(bin, name));
  expect(runScriptWith({ PATH: bin }, "check-examples.mjs", page("needs-jq"))).toMatchObject({
    code: 0,
    stdout: "not run: docs/guide/a.md:7 needs jq\n0 examples and 1 pages of the guide run\n",
  });
  const unknown = runScript("check-examples.mjs", page("needs-luck"));
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('a.md:7 "luck" is not a row of')]);
});
