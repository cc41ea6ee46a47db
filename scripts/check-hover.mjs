#!/usr/bin/env node
// Every function that an embedder imports says in its comment what it is for, with an example: an editor shows it where it is called.
// The examples, those of members of interfaces too, compile against the declarations of the packages, so that none shows what a function
// no longer takes, or one that is no longer there. Needs a build.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { repositoryRoot, runGate } from "./gate.mjs";
import { run } from "./run.mjs";
import { listFiles, readPackages } from "./workspace.mjs";

/** A member of an interface, and the comment right before it. */
const MEMBER = /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)^ +(?:readonly )?(\w+)[?(:<]/gm;

/** Objects that examples take as given, and the interface that they have where the package exports it. */
const BOUND = { client: "Client", session: "Session", sessions: "Sessions", turn: "Turn" };

/** The packages that only our own programs are made of. */
const OWN = new Set(["packages/host", "packages/cli", "packages/web-page"]);

/** A function that leaves its file, and the comment right before it. */
const FUNCTION = /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^export (?:async )?function\*? (\w+)/gm;

/** What tsc says of the names that an example leaves to its reader. */
const LEFT_TO_THE_READER = new Set(["TS2304", "TS2307", "TS2552", "TS2593", "TS18004"]);

/** The functions that examples leave to their reader. Any other that is called has to be one that some package exports, or Node. */
const OF_THE_READER = new Set(
  "again createHttpStream createMyBackend createMyStore deliver hash loadAgent loadApp loadRules refreshList show showPicker".split(
    " ",
  ),
);

/** The modules of Node whose functions an example calls without an import. */
const NODE = ["node:fs/promises", "node:child_process", "node:fs", "node:os", "node:path"];

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkHover(root) {
  const problems = [];
  const examples = [];
  const packages = readPackages(root, ["packages"]).filter(({ dir }) => !OWN.has(dir));
  for (const { dir, path, entries } of packages) {
    const exported = new Set(Object.values(entries).flatMap((target) => exportedFrom(join(path, target))));
    for (const file of listFiles(root, `${dir}/src`, [".ts"])) {
      const source = readFileSync(join(root, file), "utf8");
      for (const [, comment = "", name] of source.matchAll(FUNCTION)) {
        if (!exported.has(`${join(root, file)} ${name}`)) continue;
        const shown = comment.split("@example\n").slice(1);
        if (shown.length === 0) problems.push(`${file}: ${name} has no example in its comment`);
        examples.push(...shown.map((text) => ({ dir, place: `${file}: ${name}`, code: codeOf(text) })));
      }
      for (const [, comment, name] of source.matchAll(MEMBER)) {
        const shown = comment.split("@example\n").slice(1);
        examples.push(...shown.map((text) => ({ dir, place: `${file}: ${name}`, code: codeOf(text) })));
      }
    }
  }
  problems.push(...(await compile(examples, declaredBy(packages))));
  return { problems, summary: `${examples.length} examples in comments, all compile` };
}

const builtins = Object.fromEntries(await Promise.all(NODE.map(async (name) => [name, await import(name)])));

await runGate(import.meta, checkHover);

// --- internal ---

/** `file name` of every function that an entry declares itself or exports from a file beside it. */
function exportedFrom(target) {
  const entry = target.replace("/dist/", "/src/").replace(/\.js$/, ".ts");
  if (!entry.endsWith(".ts") || !existsSync(entry)) return [];
  const source = readFileSync(entry, "utf8");
  const passedOn = [...source.matchAll(/export \{([^}]*)\} from "(\.[^"]+)"/g)].flatMap(([, names, from]) => {
    const path = join(dirname(entry), from.replace(/\.js$/, ".ts"));
    return names.split(",").map((name) => `${path} ${name.trim().split(" as ")[0]}`);
  });
  return [...passedOn, ...[...source.matchAll(FUNCTION)].map(([, , name]) => `${entry} ${name}`)];
}

/** The lines of an example, up to the next tag. */
function codeOf(text) {
  const lines = text.split("\n").map((line) => line.replace(/^\s*\*(?: |$)/, ""));
  const end = lines.findIndex((line) => /^(@|\s*\*\/)/.test(line));
  return lines.slice(0, end).join("\n");
}

/** Name -> package -> the built file that exports it. */
function declaredBy(packages) {
  const found = new Map();
  for (const { dir, path, entries } of packages) {
    for (const target of Object.values(entries)) {
      const file = join(path, target);
      const declarations = file.replace(/\.js$/, ".d.ts");
      if (!existsSync(declarations)) continue;
      const text = readFileSync(declarations, "utf8");
      const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) => names.split(","));
      const own = [...text.matchAll(/^export (?:declare )?(?:async )?(?:function|const|class|interface|type) (\w+)/gm)];
      for (const word of [...lists, ...own.map(([, name]) => name)]) {
        const name = word
          .trim()
          .replace(/^type /, "")
          .split(" as ")
          .pop();
        if (!found.has(name)) found.set(name, new Map());
        if (!found.get(name).has(dir)) found.get(name).set(dir, file);
      }
    }
  }
  return found;
}

/** Imports what an example uses of its own package, and what it calls of the others. */
function moduleOf({ dir, code }, declared) {
  const given = new Set(
    [...code.matchAll(/(?:import|const|let|function) (\{[^}]*\}|\w+)/g)].flatMap(([, names]) => names.match(/\w+/g)),
  );
  const imports = [...new Set(code.match(/[A-Za-z_]\w*/g))].flatMap((name) => {
    const isAwaited = code.includes(`await ${name}(`);
    const builtin =
      code.includes(`${name}(`) &&
      NODE.find((module) => Object.hasOwn(builtins[module], name) && (isAwaited || !module.endsWith("/promises")));
    if (builtin && !given.has(name) && !declared.get(name)?.has(dir)) return [`import { ${name} } from "${builtin}";`];
    const files = declared.get(name);
    const file = files?.get(dir) ?? (code.includes(`${name}(`) ? [...(files?.values() ?? [])][0] : undefined);
    if (given.has(name) || name in globalThis) return [];
    if (file) return [`import { ${name} } from ${JSON.stringify(file)};`];
    const type = BOUND[name];
    const from = type && declared.get(type)?.get(dir);
    return from ? [`declare const ${name}: import(${JSON.stringify(from)}).${type};`] : [];
  });
  const lines = code.split("\n");
  const isImport = (line) => line.startsWith("import ");
  const body = lines.filter((line) => !isImport(line));
  return [...imports, ...lines.filter(isImport), "export async function example() {", ...body, "}", ""].join("\n");
}

/** Whether an example calls a function that neither a package nor its reader has: one that was renamed, or is not exported any more. */
function callsNothing(code, message) {
  const name = /^Cannot find name '(\w+)'/.exec(message)?.[1];
  return name !== undefined && !OF_THE_READER.has(name) && new RegExp(`(?<![.\\w])${name}\\(`).test(code);
}

/** @returns {Promise<string[]>} */
async function compile(examples, declared) {
  const directory = mkdtempSync(join(tmpdir(), "chimera-hover-"));
  try {
    for (const [index, example] of examples.entries())
      writeFileSync(join(directory, `${index}.ts`), moduleOf(example, declared));
    const types = join(repositoryRoot, "node_modules", "@types");
    const compilerOptions = {
      ...{ noEmit: true, strict: true, noImplicitAny: false, skipLibCheck: true },
      ...{ module: "nodenext", target: "es2023", lib: ["es2023"], typeRoots: [types], types: ["node"] },
    };
    writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    const { code, output } = await run(join(repositoryRoot, "node_modules", ".bin", "tsc"), ["-p", directory]);
    const found = [...output.matchAll(/(\d+)\.ts\(.*?error (TS\d+): (.*)/g)];
    if (code !== 0 && found.length === 0) return [`tsc failed, and says nothing of any example: ${output.trim()}`];
    return found
      .filter(
        ([, index, kind, message]) => !LEFT_TO_THE_READER.has(kind) || callsNothing(examples[index].code, message),
      )
      .map(([, index, , message]) => `${examples[index].place}: its example does not compile: ${message}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
