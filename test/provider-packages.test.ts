// Providers that the person adds by naming an installed AI SDK package, through the built program.
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { vendors } from "../packages/agent/test/vendors/all.js";
import { startVendor } from "../packages/agent/test/vendors/vendor.js";
import { startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

/** A package of the AI SDK, as small as one can be: reads a file, then says what it was asked with. */
const tiny = (version = "v4") => `
  import { existsSync, writeFileSync } from "node:fs";
  writeFileSync(new URL("loaded", import.meta.url), "");
  export const VERSION = "1.2.3";
  export const createRequestHandler = () => ({});
  export function createTiny(options) {
    const languageModel = (modelId) => {
      if (modelId === "unknown") throw Object.assign(new Error("No such languageModel: unknown"), { name: "AI_NoSuchModelError" });
      const parts = ({ prompt, reasoning }) => {
        const last = prompt.at(-1);
        if (last.role === "user") return [
          { type: "tool-call", toolCallId: "functions.Read:0", toolName: "Read", input: '{"path":"README.md"}', providerMetadata: { tiny: { seal: "s" } } },
          { type: "finish", finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage: {} },
        ];
        const call = prompt.at(-2).content.find((part) => part.type === "tool-call");
        const said = { modelId, options, reasoning, seal: call.providerOptions, id: call.toolCallId, file: last.content[0].output.value };
        return [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: JSON.stringify(said) },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} },
        ];
      };
      return {
        specificationVersion: ${JSON.stringify(version)},
        provider: "tiny.chat",
        modelId,
        async doStream(asked) {
          if (modelId === "keyless") throw Object.assign(new Error("the TINY_API_KEY variable is not set"), { name: "AI_LoadAPIKeyError" });
          return { stream: new ReadableStream({ start(to) { for (const part of parts(asked)) to.enqueue(part); to.close(); } }) };
        },
      };
    };
    return { languageModel };
  }
`;

const manifest = (name: string) => ({
  name,
  version: "1.2.3",
  type: "module",
  exports: { ".": { import: "./index.js" } },
});

function homeWith(providers: object, packages: Record<string, string> = { "@shop/tiny": tiny() }): string {
  const files = Object.entries(packages).flatMap(([name, code]) => [
    [`node_modules/${name}/package.json`, manifest(name)],
    [`node_modules/${name}/index.js`, code],
  ]);
  return scratchTree({ "config.json": { providers }, ...Object.fromEntries(files) });
}

async function run(home: string, args: readonly string[], { env = {}, files = {} } = {}) {
  const cwd = scratchTree({ "README.md": "# A workspace\n", ...files });
  const program = startProgram("otter", [...args], env, { home, cwd });
  let stdout = "";
  program.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  program.child.stdin.end();
  const code = await program.exited;
  return { code, stdout, stderr: program.stderr(), cwd };
}

const print = (home: string, model: string, options = {}) => run(home, ["-p", "go", "--model", model], options);

test("a model of an installed package takes a turn with tools, with the options of its row and what it wants back", async () => {
  const shop = {
    package: "@shop/tiny",
    options: { region: "here", apiKey: "secret-1" },
    context_window: 50_000,
  };
  const home = homeWith({ shop });
  const { code, stdout } = await print(home, "shop/big/one", { env: { CHIMERA_THINKING_LEVEL: "high" } });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    modelId: "big/one",
    options: { region: "here", apiKey: "secret-1" },
    reasoning: "high",
    seal: { tiny: { seal: "s" } },
    id: expect.stringMatching(/^[\w-]+$/),
    file: expect.stringContaining("# A workspace"),
  });
});

test("a real package from npm talks to a vendor that refuses what the real one refuses", async () => {
  const vendor = vendors.find(({ name }) => name.includes("DeepSeek"))?.create();
  if (!vendor) throw new Error("there is no such vendor");
  const read = { call: "Read", args: { path: "README.md" } };
  const running = await startVendor(vendor, [
    { says: [{ reasoning: "First the file." }, { text: "Reading." }, read] },
    { says: [{ reasoning: "Enough." }, { text: "A workspace." }] },
  ]);
  onTestFinished(running.close);
  const spec = "@ai-sdk/openai-compatible";
  const options = { name: "deep", baseURL: `${running.url}/v1`, apiKey: "k" };
  const home = homeWith({ deep: { package: spec, options } }, {});
  mkdirSync(join(home, "node_modules", "@ai-sdk"), { recursive: true });
  symlinkSync(join(repositoryRoot, "packages/agent/node_modules", spec), join(home, "node_modules", spec), "dir");
  expect(await print(home, `deep/${vendor.model.split("/").at(-1)}`)).toMatchObject({
    code: 0,
    stdout: "A workspace.\n",
  });
  expect(running.refused).toEqual([]);
});

test.each([
  [
    "that is not installed",
    "gone/m",
    /@shop\/gone is not installed; install it with: npm install --prefix \S+ @shop\/gone/,
  ],
  ["without a provider", "bare/m", /@shop\/bare exports no provider of the AI SDK/],
  ["that cannot be loaded", "broken/m", /@shop\/broken could not be loaded: no luck/],
  ["of an older specification", "old/m", /version v2 of the AI SDK's provider specification; v3 and v4 are supported/],
  [
    "that does not know the model",
    "shop/unknown",
    /@shop\/tiny does not accept the model: No such languageModel: unknown/,
  ],
  ["without its key", "shop/keyless", /the TINY_API_KEY variable is not set/],
])("a package %s fails the turn at once and says why", async (_what, model, words) => {
  const names = ["gone", "bare", "broken", "old"];
  const rows = Object.fromEntries(names.map((name) => [name, { package: `@shop/${name}` }]));
  const home = homeWith(
    { ...rows, shop: { package: "@shop/tiny" } },
    {
      "@shop/tiny": tiny(),
      "@shop/old": tiny("v2"),
      "@shop/bare": "export const nothing = 1;",
      "@shop/broken": 'throw new Error("no luck");',
    },
  );
  const { code, stderr } = await print(home, model);
  expect(code).toBe(1);
  expect(stderr).toMatch(words);
  expect(stderr).not.toContain("again in");
});

test("nothing of a package is loaded before a model of it is used, and a project cannot name one", async () => {
  const home = homeWith({ shop: { package: "@shop/tiny" } });
  const loaded = join(home, "node_modules/@shop/tiny/loaded");
  expect(await print(home, "offline")).toMatchObject({ code: 0 });
  const theirs = { providers: { shop: { package: "./evil" } } };
  const evil = { ".chimera/config.json": theirs, "evil/package.json": manifest("evil"), "evil/index.js": tiny() };
  const warned = await run(homeWith({}), ["-p", "go", "--model", "shop/m"], {
    files: evil,
    env: { OLLAMA_HOST: "127.0.0.1:9" },
  });
  expect(warned.stderr).toContain("a project may not set providers");
  expect(warned.code).toBe(1);
  expect([loaded, join(warned.cwd, "evil/loaded")].filter(existsSync)).toEqual([]);
});

test("doctor, config and GET /providers name the person's providers and no key of theirs", async () => {
  const options = { apiKey: "secret-1" };
  const home = homeWith({ shop: { package: "@shop/tiny", options }, gone: { package: "@shop/gone", options } });
  const doctor = await run(home, ["doctor", "--json"]);
  expect(doctor.stdout).toContain("shop: @shop/tiny 1.2.3; gone: @shop/gone is not installed");
  expect(doctor.stdout).toContain(`npm install --prefix ${home} @shop/gone`);
  const config = await run(home, ["config", "--json"]);
  expect(config.stdout).toContain("@shop/gone");
  const server = await startServer(["--model", "shop/m"], {}, { home });
  const { body } = await server.ask("GET /providers");
  expect(body.active).toEqual({ provider: "shop", model: "shop/m" });
  expect(body.available).toContainEqual({ name: "gone", configured: true });
  expect(doctor.stdout + config.stdout + JSON.stringify(body)).not.toContain("secret-1");
});
