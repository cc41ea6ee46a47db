// The last step of `npm start`: the built program, in this process, so that there is no child to be left behind.
import { once } from "node:events";
import { get } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setInterval } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { repositoryRoot } from "./gate.mjs";

/** Runs `otter serve <args>` and, once it answers, prints its address and a request to try. */
export async function main(args) {
  const cli = join(repositoryRoot, "apps", "otter", "dist", "cli.js");
  const { values } = parseArgs({ args, options: addressFlags, strict: false });
  if (!values.acp) announceWhenUp(values);
  process.argv = [process.execPath, cli, "serve", ...args];
  await import(pathToFileURL(cli).href);
}

// --- internal ---

const addressFlags = {
  port: { type: "string" },
  host: { type: "string" },
  "tls-cert": { type: "string" },
  acp: { type: "boolean" },
};

/** Another server may hold the port already: only one that started after us is ours. */
async function announceWhenUp({ port = "5173", host = "127.0.0.1", "tls-cert": certificate }) {
  if (certificate) return;
  const started = Date.now() - 1000;
  const address = `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`;
  for await (const _ of setInterval(250, undefined, { ref: false })) {
    const health = await readJson(`${address}/health`).catch(() => undefined);
    if (health !== undefined && Date.parse(health.started_at) >= started) return console.log(greeting(address));
  }
}

async function readJson(url) {
  const request = get(url, { agent: false });
  const [response] = await once(request, "response");
  return await json(response);
}

function greeting(address) {
  return `
otter is at ${address}

Try it in another terminal:

  curl -s -X POST ${address}/sessions -H 'content-type: application/json' -d '{"prompt":"list files and read README"}'
  curl -N ${address}/sessions/<session_id>/events
`;
}
