// The entries for catalogues keep to what the public agent registry checks.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot, runScript, scratchTree } from "./scratch.js";

const readJson = (...path: string[]) => JSON.parse(readFileSync(join(...path), "utf8"));

test.each(["otter", "ferret"])("%s has an entry that names its package, and an icon in one colour", (id) => {
  const out = scratchTree({});
  expect(runScript("../tools/make-listings.mjs", "--out", out).code).toBe(0);
  const manifest = readJson(repositoryRoot, "apps", id, "package.json");
  const repository = manifest.repository.url.replace(/^git\+|\.git$/g, "");
  const entry = readJson(out, id, "agent.json");
  expect(entry).toMatchObject({
    id,
    name: expect.stringMatching(/./),
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    description: expect.stringMatching(/./),
    repository,
    license: "MIT",
    license_url: `${repository}/blob/main/LICENSE`,
  });
  expect(entry.distribution).toEqual({
    npx: { package: `${manifest.name}@${manifest.version}`, args: ["acp"] },
  });
  const icon = readFileSync(join(out, id, "icon.svg"), "utf8");
  expect(icon).toContain('width="16" height="16" viewBox="0 0 16 16"');
  const colours = [...icon.matchAll(/(?:fill|stroke)="([^"]*)"/g)].map(([, colour]) => colour);
  expect(colours.filter((colour) => colour !== "currentColor" && colour !== "none")).toEqual([]);
  expect(colours).toContain("currentColor");
});
