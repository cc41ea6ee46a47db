// An MCP server in one file and without a dependency: it answers which version of a package is installed in the directory it is
// started in, which a model otherwise guesses. One JSON-RPC message a line, on stdin and stdout.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

const tools = [
  {
    name: "installed_version",
    title: "Installed version",
    description: "The version of an npm package that is installed in this project, and where its source is.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", description: "The package's name, as in package.json" } },
      required: ["name"],
    },
  },
];

/** A name that npm would take: it cannot lead out of node_modules. */
const PACKAGE_NAME = /^(?:@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*$/i;

async function installedVersion({ name }) {
  if (typeof name !== "string" || !PACKAGE_NAME.test(name)) throw new Error("name is not the name of a package");
  const path = join(process.cwd(), "node_modules", name, "package.json");
  const text = await readFile(path, "utf8").catch(() => {
    throw new Error(`${name} is not installed here`);
  });
  const { version, repository } = JSON.parse(text);
  return `${name} ${version}${repository?.url ? `, from ${repository.url}` : ""}`;
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "installed-packages", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  // What goes wrong inside a tool is for the model to read; what goes wrong outside of one is an error of the protocol.
  "tools/call": async ({ name, arguments: input = {} }) => {
    if (name !== "installed_version") throw new ProtocolError(-32602, `no tool is called ${name}`);
    try {
      return { content: [{ type: "text", text: await installedVersion(input) }] };
    } catch (error) {
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  },
};

class ProtocolError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function answer(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return { id: null, error: { code: -32700, message: "not JSON" } };
  }
  const { id, method, params = {} } = message ?? {};
  if (id === undefined) return undefined; // a notification
  if (!Object.hasOwn(methods, method)) return { id, error: { code: -32601, message: `no method is called ${method}` } };
  if (params === null || typeof params !== "object")
    return { id, error: { code: -32602, message: "params must be an object" } };
  try {
    return { id, result: await methods[method](params) };
  } catch (error) {
    return { id, error: { code: error.code ?? -32603, message: error.message } };
  }
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const reply = await answer(line);
  if (reply) process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...reply })}\n`);
});
