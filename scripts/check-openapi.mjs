#!/usr/bin/env node
// The OpenAPI document as others use it: it keeps the recommended rules of Redocly, the types that openapi-typescript makes of it
// compile and are the right ones, and it takes nothing away from what programs were written against. `scripts/api-promise.json` says what that is;
// `--write` takes today's in its place, and refuses what breaks a program unless the version has moved. Needs a build.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { brokenBy, promisesOf } from "./api-promise.mjs";
import { repositoryRoot, runGate } from "./gate.mjs";
import { run } from "./run.mjs";

const PROMISE = "scripts/api-promise.json";

/** What a program does with the types. */
const USE = `import type { components, paths } from "./api.js";
type Reply<P extends keyof paths> = paths[P] extends { get: { responses: { 200: { content: { "application/json": infer R } } } } } ? R : never;
export const id = (reply: Reply<"/sessions">): string | undefined => reply.sessions[0]?.session_id;
export const kind = (record: components["schemas"]["SessionRecordSchema"]): string => (record.type === "text_delta" ? record.metadata.text : record.type);
// @ts-expect-error: a number is not an id.
export const wrong = (reply: Reply<"/sessions">): number | undefined => reply.sessions[0]?.session_id;
`;

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkOpenApi(root, document = documentOf(root)) {
  const before = JSON.parse(readFileSync(join(root, PROMISE), "utf8"));
  const found = await Promise.all([lint(document), compile(document), broken(before, document), silent(document)]);
  const count = Object.values(document.paths).flatMap(Object.keys).length;
  return { problems: found.flat(), summary: `${count} operations, valid, typed and as promised` };
}

if (process.argv.includes("--write")) {
  const document = documentOf(repositoryRoot);
  const before = JSON.parse(readFileSync(join(repositoryRoot, PROMISE), "utf8"));
  const problems = broken(before, document);
  if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exit(1);
  }
  writeFileSync(join(repositoryRoot, PROMISE), `${JSON.stringify(promisesOf(document), null, 1)}\n`);
} else await runGate(import.meta, checkOpenApi);

// --- internal ---

function documentOf(root) {
  return JSON.parse(readFileSync(join(root, "packages/acp-schema/schema/openapi.json"), "utf8"));
}

function broken(before, document) {
  return brokenBy(before, promisesOf(document), document).map(
    (what) => `openapi.json breaks a program of version ${before.version}: ${what}; put it back, or raise the version`,
  );
}

/** Every field, parameter and header that no sentence explains. */
function silent(node, path = "openapi.json") {
  if (typeof node !== "object" || node === null) return [];
  const named = Object.entries({ ...node.properties, ...node.headers })
    .filter(([, value]) => !value.not && !value.description && !isNamed(value))
    .map(([name]) => `${path}: nothing describes ${name}; write a comment above the field in the source`);
  const listed = Array.isArray(node.parameters) ? node.parameters : Object.values(node.parameters ?? {});
  const unexplained = listed
    .filter(({ description, $ref }) => !description && !$ref)
    .map(({ in: place, name }) => `${path}: nothing describes the ${place} parameter ${name}`);
  const inner = Object.entries(node)
    .filter(([key]) => key !== "example")
    .flatMap(([key, value]) => silent(value, `${path}/${key}`));
  return [...named, ...unexplained, ...inner];
}

/** A header that has its words elsewhere; a field says what it is where it stands. */
function isNamed({ $ref = "" }) {
  return $ref.startsWith("#/components/headers/");
}

async function lint(document) {
  const config = await createConfig({ extends: ["recommended"] });
  const found = await lintFromString({ source: JSON.stringify(document), absoluteRef: "openapi.json", config });
  return found
    .filter(({ severity }) => severity === "error")
    .map(({ ruleId, message, location }) => `openapi.json${location[0].pointer}: ${message} (${ruleId})`);
}

async function compile(document) {
  const generator = createRequire(join(repositoryRoot, "scripts", "openapi-types", "package.json"));
  const { default: openapiTS, astToString } = generator("openapi-typescript");
  const place = join(repositoryRoot, "node_modules", ".cache");
  mkdirSync(place, { recursive: true });
  const directory = mkdtempSync(join(place, "openapi-"));
  try {
    writeFileSync(join(directory, "api.d.ts"), astToString(await openapiTS(document)));
    writeFileSync(join(directory, "use.ts"), USE);
    const options = [
      "--noEmit",
      "--strict",
      "--noUncheckedIndexedAccess",
      "--module",
      "nodenext",
      "--target",
      "es2022",
    ];
    const { code, stdout } = await run(join(repositoryRoot, "node_modules", ".bin", "tsc"), [...options, "use.ts"], {
      cwd: directory,
    });
    return code === 0
      ? []
      : stdout
          .trim()
          .split("\n")
          .map((line) => `types made of openapi.json: ${line}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
