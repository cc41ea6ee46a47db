import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const ARCHITECTURE = "# A\n\n<!-- layers: drawn by tools/draw-layers.mjs -->\nold\n<!-- end of layers -->\n";

test("documents whose links lead somewhere and whose examples run pass; others fail at their lines", () => {
  const root = (link: string, example: string, command: string) =>
    scratchTree({
      "docs/guide/first.md": `# First\n\n\`\`\`sh\nmade=here\n\`\`\`\n\n\`\`\`sh\n${command}\n\`\`\`\n`,
      "README.md": `# A\n\nSee [there](${link}) and [here](docs/guide/first.md).\n\n\`\`\`js\n// example\n${example}\n\`\`\`\n`,
      "docs/ARCHITECTURE.md": ARCHITECTURE,
      "layers.json": { packages: { "packages/log": 0, "apps/prog": 1 } },
    });
  const sound = root("docs/ARCHITECTURE.md#a", 'import "node:fs";', 'test "$made" = here');
  expect(runScript("check-docs.mjs", sound)).toMatchObject({ code: 0, stderr: "" });
  expect(runScript("check-examples.mjs", sound)).toMatchObject({
    code: 0,
    stdout: "1 examples and 1 pages of the guide run\n",
  });
  runScript("../tools/draw-layers.mjs", sound);
  expect(runScript("../tools/draw-layers.mjs", sound, "--check")).toMatchObject({ code: 0, stderr: "" });

  const broken = root("docs/gone.md", 'throw new Error("stale");', "echo outdated; false");
  const links = runScript("check-docs.mjs", broken);
  expect(links.stderr).toContain("README.md:3 links to docs/gone.md");
  const examples = runScript("check-examples.mjs", broken);
  expect(examples.stderr).toMatch(/README\.md:6 the example ended with 1[\s\S]*stale/);
  expect(examples.stderr).toMatch(/docs\/guide\/first\.md:1 its commands ended with 1[\s\S]*outdated/);
  const drawing = runScript("../tools/draw-layers.mjs", broken, "--check");
  expect([links.code, examples.code, drawing.code]).toEqual([1, 1, 1]);
});
