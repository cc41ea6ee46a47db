/** `serve status`: one line for every recorded server. */
import type { Invocation } from "../command/command.js";
import { resolvePaths } from "../paths.js";
import type { PidfileEntry } from "../pidfile.js";

export async function status({ profile, flags, process }: Invocation): Promise<number> {
  const { listPidfiles } = await import("../pidfile.js");
  const entries = listPidfiles({ prefix: profile.name, directory: resolvePaths(process.env).run });
  if (flags["json"] === true) {
    process.stdout.write(`${JSON.stringify({ servers: entries }, null, 2)}\n`);
    return 0;
  }
  if (entries.length === 0) process.stderr.write(`no ${profile.name} servers found\n`);
  process.stdout.write(entries.map((entry) => `${lineOf(entry)}\n`).join(""));
  return 0;
}

// --- internal ---

function lineOf({ prefix, port, pid, alive, scheme, auth_token_hash, path }: PidfileEntry): string {
  const life = alive ? "yes" : "no (stale)";
  const auth = auth_token_hash === null ? "no" : "yes";
  return `${prefix} port=${port} pid=${pid} alive=${life} scheme=${scheme} auth=${auth} ${path}`;
}
