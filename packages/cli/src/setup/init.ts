/** `init`: writes the configuration that a careful person starts with. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CONFIG_KEYS, type Invocation, resolvePaths } from "@chimera/host";
import { printLines } from "../output.js";
import { complain } from "../reported.js";

/** 1 when there is a configuration already, which stays as it is. */
export async function writeFirstConfig(invocation: Invocation): Promise<number> {
  const { config } = resolvePaths(invocation.process.env);
  await mkdir(dirname(config), { recursive: true, mode: 0o700 });
  try {
    await writeFile(config, `${JSON.stringify(firstConfig(), null, 2)}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    complain(invocation, `${config} is there already and stays as it is`);
    return 1;
  }
  printLines(invocation, [`wrote ${config}: sessions open in review and ask before they write files or run commands`]);
  return 0;
}

// --- internal ---

const SAFETY = "safety.";

function firstConfig(): object {
  const rows = Object.entries(CONFIG_KEYS).filter(([name]) => name.startsWith(SAFETY));
  return { safety: Object.fromEntries(rows.map(([name, row]) => [name.slice(SAFETY.length), row.default])) };
}
