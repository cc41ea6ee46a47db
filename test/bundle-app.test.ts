// The bundler against small workspaces of its own, and against the programs of this one: where a module lands, that it still works there,
// and whose licences go with it.
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { bundleApp } from "../scripts/bundle-app.mjs";
import { readImports } from "../scripts/read-source.mjs";
import { listFiles, readPackages } from "../scripts/workspace.mjs";
import { repositoryRoot, runScript, scratchTree } from "./scratch.js";

const manifest = (name: string, fields: Record<string, unknown> = {}) => ({
  name: `@zoo/${name}`,
  type: "module",
  sideEffects: false,
  exports: { ".": { default: "./dist/index.js" }, "./late": { default: "./dist/late.js" } },
  ...fields,
});

/** A program that asks a model for an answer; the package of models opens each on demand. */
const ZOO: Record<string, unknown> = {
  "packages/models/package.json": manifest("models"),
  "packages/models/src/index.ts": `
    const OPENERS: Record<string, () => Promise<{ say(): string }>> = { parrot: () => import("./parrot/model.js") };
    export const ask = async (name: string) => (await OPENERS[name]!()).say();`,
  "packages/models/src/parrot/model.ts": 'export const say = (): string => "SQUAWK-PARROT";',
  "apps/fox/package.json": { name: "@zoo/fox", version: "1.0.0", type: "module" },
  "apps/fox/bundle.json": { together: { program: ["src"], turn: ["@zoo/models"] } },
  "apps/fox/src/main.ts": '#!/usr/bin/env node\nvoid import("./program.js").then(({ main }) => main());',
  "apps/fox/src/program.ts": `
    export async function main(): Promise<void> {
      const { ask } = await import("@zoo/models");
      console.log(await ask(process.argv[2] ?? "parrot"));
    }`,
};

function add(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const bundle = (root: string) => runScript("bundle-app.mjs", join(root, "apps/fox"));

function bundled(root: string): string {
  const { code, stderr } = bundle(root);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return join(root, "apps/fox/dist");
}

/** Which files of a bundle have a text in them. */
const holders = (dist: string, text: string) =>
  readdirSync(dist).filter((file) => file.endsWith(".js") && readFileSync(join(dist, file), "utf8").includes(text));

const run = (dist: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(join(dist, "cli.js"), args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : stderr;
};

const runWith = (dist: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) =>
  spawnSync(process.execPath, [...flags, join(dist, "cli.js")], { encoding: "utf8", env: { ...process.env, ...env } });

/** An installed package, where the package of models finds it. */
const installed = (
  name: string,
  files: Record<string, string>,
  licence: string | null = `The licence of ${name}.`,
) => ({
  [`packages/models/node_modules/${name}/package.json`]: JSON.stringify({
    name,
    version: "2.0.0",
    license: "MIT",
    ...JSON.parse(files["package.json"] ?? "{}"),
  }),
  ...Object.fromEntries(
    Object.entries(files)
      .filter(([file]) => file !== "package.json")
      .map(([file, text]) => [`packages/models/node_modules/${name}/${file}`, text]),
  ),
  ...(licence !== null && { [`packages/models/node_modules/${name}/LICENSE`]: licence }),
});

describe("where a module lands", () => {
  test("a folder that is added to a package is bundled with the rest of that package", () => {
    const root = scratchTree(ZOO);
    expect(holders(bundled(root), "SQUAWK-PARROT")).toEqual(["turn.js"]);
    const models = readFileSync(join(root, "packages/models/src/index.ts"), "utf8");
    add(root, {
      "packages/models/src/index.ts": models.replace(
        'import("./parrot/model.js")',
        'import("./parrot/model.js"), whale: () => import("./whale/model.js")',
      ),
      "packages/models/src/whale/model.ts": 'import { song } from "./song.js";\nexport const say = (): string => song;',
      "packages/models/src/whale/song.ts": 'export const song = "SONG-WHALE";',
    });
    const dist = bundled(root);
    expect(holders(dist, "SONG-WHALE")).toEqual(["turn.js"]);
    expect(run(dist, "whale")).toBe("SONG-WHALE");
    expect(run(dist, "parrot")).toBe("SQUAWK-PARROT");
  });

  test("a package that is added gets a file of its own, or is part of the file that imports it", () => {
    const root = scratchTree(ZOO);
    add(root, {
      "packages/weather/package.json": JSON.stringify(manifest("weather")),
      "packages/weather/src/index.ts":
        'export const sky = "CLEAR-SKY"; export const later = () => import("./rain.js");',
      "packages/weather/src/rain.ts": 'export const rain = "LATE-RAIN";',
      "packages/moods/package.json": JSON.stringify(manifest("moods")),
      "packages/moods/src/index.ts": 'export const mood = "GOOD-MOOD";',
      "apps/fox/src/program.ts": `
        import { mood } from "@zoo/moods";
        export async function main(): Promise<void> {
          const { sky, later } = await import("@zoo/weather");
          const { ask } = await import("@zoo/models");
          console.log([mood, sky, (await later()).rain, await ask("parrot")].join());
        }`,
    });
    const dist = bundled(root);
    expect(holders(dist, "GOOD-MOOD")).toEqual(["program.js"]);
    expect(holders(dist, "CLEAR-SKY")).toEqual(["weather.js"]);
    expect(holders(dist, "LATE-RAIN")).toEqual(["weather.js"]);
    expect(run(dist)).toBe("GOOD-MOOD,CLEAR-SKY,LATE-RAIN,SQUAWK-PARROT");
  });

  test("the narrowest row decides: an entry or a folder before its package", () => {
    const root = scratchTree({
      ...ZOO,
      "packages/models/src/late.ts": 'export const late = "LATE-ENTRY";',
      "apps/fox/bundle.json": {
        together: {
          program: ["src"],
          turn: ["@zoo/models"],
          birds: ["@zoo/models/src/parrot"],
          late: ["@zoo/models/late"],
          own: ["src/own"],
        },
      },
      "apps/fox/src/own/part.ts": 'export const part = "OWN-PART";',
      "apps/fox/src/program.ts": `
        export async function main(): Promise<void> {
          const { ask } = await import("@zoo/models");
          const [{ late }, { part }] = [await import("@zoo/models/late"), await import("./own/part.js")];
          console.log([await ask("parrot"), late, part].join());
        }`,
    });
    const dist = bundled(root);
    expect(holders(dist, "SQUAWK-PARROT")).toEqual(["birds.js"]);
    expect(holders(dist, "LATE-ENTRY")).toEqual(["late.js"]);
    expect(holders(dist, "OWN-PART")).toEqual(["own.js"]);
    expect(run(dist)).toBe("SQUAWK-PARROT,LATE-ENTRY,OWN-PART");
  });

  test("modules of one file run together; those that are kept apart run one by one", () => {
    const traced = (name: string) => `console.log("ran ${name}");\nexport const say = (): string => "${name}";`;
    const root = scratchTree({
      ...ZOO,
      "packages/models/package.json": manifest("models", { sideEffects: true }),
      "packages/models/src/parrot/model.ts": traced("parrot"),
      "packages/models/src/owl/model.ts": traced("owl"),
      "packages/models/src/index.ts": `
        export const ask = async (name: string) =>
          (await { parrot: () => import("./parrot/model.js"), owl: () => import("./owl/model.js") }[name]!()).say();`,
      "apps/fox/bundle.json": {
        together: { program: ["src"], turn: ["@zoo/models"] },
        apart: { birds: ["@zoo/models/src/parrot", "@zoo/models/src/owl"] },
      },
    });
    expect(run(bundled(root), "owl")).toBe("ran owl\nowl");
    add(root, {
      "apps/fox/bundle.json": JSON.stringify({
        together: { program: ["src"], turn: ["@zoo/models"], birds: ["@zoo/models/src/parrot", "@zoo/models/src/owl"] },
      }),
    });
    expect(run(bundled(root), "owl")).toBe("ran owl\nran parrot\nowl");
  });

  test("a package whose file would take the place of the program's first is refused by name", () => {
    const root = scratchTree({
      ...ZOO,
      "packages/cli/package.json": manifest("cli"),
      "packages/cli/src/index.ts": "export const rows = [];",
      "apps/fox/src/program.ts": 'export const main = () => Promise.all([import("@zoo/models"), import("@zoo/cli")]);',
    });
    const { code, stderr } = bundle(root);
    expect(stderr).toContain(
      "packages/cli/src/index.ts needs a row in bundle.json: cli.js is where the program starts",
    );
    expect(code).toBe(1);
  });

  test("a row of bundle.json that nothing falls under is refused by name", () => {
    const root = scratchTree({
      ...ZOO,
      "apps/fox/bundle.json": { together: { program: ["src"], turn: ["@zoo/models", "@zoo/model", "src/lost"] } },
    });
    const { code, stderr } = bundle(root);
    expect(stderr).toContain("apps/fox/bundle.json: nothing is imported on demand from @zoo/model, src/lost");
    expect(code).toBe(1);
  });
});

describe("what V8 made of a file", () => {
  /** What is kept, by name: another number is another file. */
  const kept = (dist: string) => {
    const directory = join(dist, "compiled");
    return Object.fromEntries(readdirSync(directory).map((name) => [name, statSync(join(directory, name)).ino]));
  };
  const ran = () => {
    const dist = bundled(scratchTree(ZOO));
    expect(run(dist)).toBe("SQUAWK-PARROT");
    return dist;
  };

  test("is kept beside it, and is used by the next run", () => {
    const dist = ran();
    const first = kept(dist);
    expect(Object.keys(first).toSorted()).toEqual(["program.bin", "turn.bin"]);
    expect(run(dist)).toBe("SQUAWK-PARROT");
    expect(kept(dist)).toEqual(first);
    // Another V8 would not take it; neither does one with other settings.
    expect(runWith(dist, ["--no-opt"])).toMatchObject({ status: 0, stdout: "SQUAWK-PARROT\n", stderr: "" });
    expect(Object.values(kept(dist))).not.toEqual(Object.values(first));
  });

  test("is not used for a file that has changed, even to another of the same length", () => {
    const dist = ran();
    const file = join(dist, "turn.js");
    writeFileSync(file, readFileSync(file, "utf8").replace("SQUAWK-PARROT", "COCKADOODLEDO"));
    expect(run(dist)).toBe("COCKADOODLEDO");
    expect(run(dist)).toBe("COCKADOODLEDO");
  });

  test("is made again when it is damaged in any way", () => {
    const dist = ran();
    const file = join(dist, "compiled", "turn.bin");
    const whole = readFileSync(file);
    const damages: [string, (bytes: Buffer) => Buffer][] = [
      ["empty", () => Buffer.alloc(0)],
      ["three bytes", (bytes) => bytes.subarray(0, 3)],
      ["the head alone", (bytes) => bytes.subarray(0, 8)],
      ["half", (bytes) => bytes.subarray(0, bytes.length >> 1)],
      ["zeros", (bytes) => Buffer.alloc(bytes.length)],
      ...[0, 5, 20, 60, 200, 500].map((at): [string, (bytes: Buffer) => Buffer] => [
        `a bit at ${at}`,
        (bytes) => {
          const copy = Buffer.from(bytes);
          copy[at]! ^= 4;
          return copy;
        },
      ]),
    ];
    for (const [name, damage] of damages) {
      writeFileSync(file, damage(whole));
      const before = kept(dist);
      expect([name, run(dist)]).toEqual([name, "SQUAWK-PARROT"]);
      // Bytes between the checksum and the data mean nothing.
      if (name !== "a bit at 5") expect([name, kept(dist)]).not.toEqual([name, before]);
      expect([name, run(dist)]).toEqual([name, "SQUAWK-PARROT"]);
    }
  });

  test("is kept whole by programs that end at once", async () => {
    const dist = bundled(scratchTree(ZOO));
    const all = Array.from({ length: 6 }, () => promisify(execFile)(join(dist, "cli.js")));
    for (const { stdout, stderr } of await Promise.all(all)) expect([stdout, stderr]).toEqual(["SQUAWK-PARROT\n", ""]);
    const first = kept(dist);
    expect(Object.keys(first).toSorted()).toEqual(["program.bin", "turn.bin"]);
    expect(run(dist)).toBe("SQUAWK-PARROT");
    expect(kept(dist)).toEqual(first);
  });

  test("is not kept where it cannot be, and not while coverage is counted", () => {
    const dist = bundled(scratchTree(ZOO));
    const coverage = scratchTree({});
    expect(runWith(dist, [], { NODE_V8_COVERAGE: coverage })).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(dist)).not.toContain("compiled");
    writeFileSync(join(dist, "compiled"), "in the way");
    expect(runWith(dist)).toMatchObject({ status: 0, stdout: "SQUAWK-PARROT\n", stderr: "" });
    expect(readFileSync(join(dist, "compiled"), "utf8")).toBe("in the way");
  });

  test("a file with an import() of something outside is run by Node, and asks for no other file", () => {
    const root = scratchTree({
      ...ZOO,
      "apps/fox/bundle.json": {
        together: { program: ["src"], turn: ["@zoo/models"], birds: ["@zoo/models/src/parrot"] },
      },
      "packages/models/src/parrot/model.ts": `
        import { pathToFileURL } from "node:url";
        export const say = async (): Promise<string> => (await import(pathToFileURL(process.argv[3] ?? "").href)).bird;`,
      "bird.mjs": 'export const bird = "REAL-BIRD";',
    });
    const dist = bundled(root);
    for (let i = 0; i < 2; i++) expect(run(dist, "parrot", join(root, "bird.mjs"))).toBe("REAL-BIRD");
    expect(Object.keys(kept(dist)).toSorted()).toEqual(["program.bin", "turn.bin"]);
    add(root, {
      "packages/models/src/parrot/model.ts": `
        export const say = async (): Promise<unknown> => [await import(process.argv[3] ?? ""), await import("../index.js")];`,
    });
    const { code, stderr } = bundle(root);
    expect(stderr).toContain("birds.js asks for other files and has an import() of something outside");
    expect(code).toBe(1);
  });

  test("a file that fails says where", () => {
    const root = scratchTree({
      ...ZOO,
      "packages/models/src/parrot/model.ts": 'export const say = (): string => { throw new Error("no bird"); };',
    });
    expect(run(bundled(root))).toMatch(/Error: no bird\n {4}at .*turn\.js:\d+:\d+/);
  });
});

describe("packages of others", () => {
  const importing = (names: string[], say: string) => ({
    ...ZOO,
    "packages/models/src/parrot/model.ts": "export {};",
    "packages/models/src/index.ts": `
      export const ask = async (_name: string) => {
        const [${names.map((_, index) => `m${index}`)}] = await Promise.all([${names.map((name) => `import(${JSON.stringify(name)})`)}]) as any[];
        return ${say};
      };`,
  });

  test("default and named exports of ES modules and of CommonJS are found on demand", () => {
    const root = scratchTree({
      ...importing(
        ["esm", "@scope/cjs", "node:path"],
        "JSON.stringify([m0.default(), m0.named, m1.default(), m1.named, m2.default.sep])",
      ),
      ...installed("esm", {
        "package.json": '{"type":"module","exports":"./index.js"}',
        "index.js": 'export default () => "esm default"; export const named = "esm named";',
      }),
      ...installed("@scope/cjs", {
        "index.js": 'module.exports = () => "cjs default"; module.exports.named = "cjs named";',
      }),
    });
    const dist = bundled(root);
    expect(run(dist)).toBe('["esm default","esm named","cjs default","cjs named","/"]');
    expect(readdirSync(dist)).toEqual(expect.arrayContaining(["esm.js", "scope-cjs.js"]));
  });

  test("a bundle has the licence of every package in it, and of none that is not", () => {
    const root = scratchTree({
      ...importing(["used"], "m0.used"),
      ...installed("used", { "index.js": 'exports.used = require("deeper").deep;', "NOTICE.txt": "And a notice." }),
      ...installed("deeper", { "index.js": 'exports.deep = "deep";' }),
      ...installed("unused", { "index.js": "" }),
    });
    const dist = bundled(root);
    expect(run(dist)).toBe("deep");
    const notices = readFileSync(join(dist, "THIRD-PARTY-NOTICES"), "utf8");
    expect(notices).toContain("deeper 2.0.0 (MIT)\n\nThe licence of deeper.\n");
    expect(notices).toContain("used 2.0.0 (MIT)\n\nThe licence of used.\n\nAnd a notice.\n");
    expect(notices).not.toContain("unused");
  });

  test("a licence that stands in a README only is taken from there", () => {
    const readme = "# quiet\n\nWhat it does.\n\n## License\n\nCopyright (c) 2014 its authors\n";
    const root = scratchTree({
      ...importing(["quiet"], "m0.quiet"),
      ...installed("quiet", { "index.js": 'exports.quiet = "quiet";', "README.md": readme }, null),
    });
    const notices = readFileSync(join(bundled(root), "THIRD-PARTY-NOTICES"), "utf8");
    expect(notices).toContain("quiet 2.0.0 (MIT)\n\n## License\n\nCopyright (c) 2014 its authors\n");
    expect(notices).not.toContain("What it does.");
  });

  test("a package without a licence is not bundled", () => {
    const root = scratchTree({
      ...importing(["bare"], "m0.bare"),
      ...installed("bare", { "index.js": 'exports.bare = "bare";' }, null),
    });
    const { code, stderr } = bundle(root);
    expect(stderr).toContain("bare 2.0.0 has no text of its licence, so it may not be bundled");
    expect(code).toBe(1);
  });

  test("data that was generated from a package brings that package's licence", () => {
    const root = scratchTree({
      ...ZOO,
      "packages/models/src/parrot/model.ts":
        'import { rows } from "./rows.gen.js";\nexport const say = (): string => rows;',
      "packages/models/src/parrot/rows.gen.ts":
        '/** Written by scripts/rows.mjs from listed 2.0.0; do not edit. */\nexport const rows = "ROWS";',
      ...installed("listed", { "index.js": "" }),
    });
    const dist = bundled(root);
    expect(run(dist)).toBe("ROWS");
    expect(readFileSync(join(dist, "THIRD-PARTY-NOTICES"), "utf8")).toContain("The licence of listed.");
  });
});

const workspace = readPackages(repositoryRoot);
const programs = workspace.filter(({ path }) => existsSync(join(path, "bundle.json"))).map(({ dir }) => dir);
const noticesOf = (dir: string) => readFileSync(join(repositoryRoot, dir, "dist", "THIRD-PARTY-NOTICES"), "utf8");

const WIRES = "packages/agent/src/providers/wires";

test.each(programs)(
  "%s: builds are alike, each file asks only for files that are there, and the notices have every licence",
  async (dir) => {
    const out = scratchTree({});
    const metafiles = await bundleApp(join(repositoryRoot, dir), out);
    const inputsOf = (file: string) =>
      Object.values(metafiles[file]!.outputs).flatMap(({ inputs }) => Object.keys(inputs));
    const files = Object.keys(metafiles).map((file) => `${file}.js`);
    const asked = files.flatMap((file) => {
      const text = readFileSync(join(out, file), "utf8");
      expect(text === readFileSync(join(repositoryRoot, dir, "dist", file), "utf8"), `${file} is built anew`).toBe(
        true,
      );
      return [...text.matchAll(/\("\.\/([^"]+\.js)"\)/g)].map(([, name]) => name!);
    });
    expect(files.toSorted()).toEqual(["cli.js", ...new Set(asked)].toSorted());
    // What a turn needs of the agent is in one file.
    const wires = readdirSync(join(repositoryRoot, WIRES), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => `${WIRES}/${name}`);
    expect(wires.length).toBeGreaterThan(3);
    expect(inputsOf("turn")).toEqual(expect.arrayContaining(wires));
    const homes = Object.keys(metafiles)
      .flatMap(inputsOf)
      .flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
    expect(new Set(homes).size).toBeGreaterThan(10);
    for (const home of new Set(homes)) expectLicence(noticesOf(dir), join(repositoryRoot, home));
  },
);

test("a package that bundles others has their licences", () => {
  const bundling = workspace.filter(
    ({ dir, manifest: { tsup } }) => dir.startsWith("packages/") && tsup.bundle !== false,
  );
  const found = bundling.flatMap(({ dir, path, manifest: { dependencies, peerDependencies, tsup } }) => {
    const outside = Object.keys({
      ...dependencies,
      ...peerDependencies,
      ...Object.fromEntries((tsup.external ?? []).map((name: string) => [name, ""])),
    });
    const names = listFiles(repositoryRoot, `${dir}/src`, [".ts"])
      .flatMap((file) => readImports(file, readFileSync(join(repositoryRoot, file), "utf8")).imports)
      .map(({ specifier }) => specifier)
      .filter((specifier) => !specifier.startsWith(".") && !isBuiltin(specifier))
      .filter((specifier) => !outside.some((name) => specifier === name || specifier.startsWith(`${name}/`)));
    // What is of this repository comes under the licence that its packages have anyway.
    const others = names
      .filter((specifier) => !specifier.startsWith("@chimera/"))
      .flatMap((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? []);
    for (const name of new Set(others)) expectLicence(noticesOf(dir), join(path, "node_modules", name));
    return names;
  });
  expect(found).toContain("diff");
});

/** The package's name and version, and every word of its licence; one that gives the work to the public comes without a text. */
function expectLicence(notices: string, home: string): void {
  const { name, version, license } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  const licence = readdirSync(home).find((one) => /^(un)?licen[cs]e/i.test(one));
  const readme = readdirSync(home).find((one) => /^readme/i.test(one));
  const said = licence ?? (license === "Unlicense" ? undefined : readme);
  const text = said === undefined ? "" : readFileSync(join(home, said), "utf8").trim();
  const own = licence === undefined ? text.slice(text.search(/^## licen[cs]e$/im)) : text;
  expect(notices).toContain(`${name} ${version} (${license})\n${own && `\n${own}`}`);
}
