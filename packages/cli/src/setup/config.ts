/** `config` and `init`: every setting, its value and where it came from; and a first configuration. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CONFIG_KEYS, type Invocation, readConfig, resolvePaths, type Setting } from "@chimera/host";
import { isSet } from "../flags.js";
import { printLines, printList } from "../output.js";
import { complain } from "../reported.js";

export async function showConfig(invocation: Invocation): Promise<number> {
  const { settings, problems } = readConfig(invocation);
  const columns = [
    { title: "SETTING", cell: (row: Setting) => row.name },
    { title: "VALUE", cell: (row: Setting) => shown(row.value) },
    { title: "FROM", cell: (row: Setting) => (row.from ? `${row.layer}: ${row.from}` : row.layer) },
  ];
  await printList(invocation, columns, settings, { settings, problems });
  if (!isSet(invocation.flags, "json")) for (const problem of problems) complain(invocation, problem);
  return 0;
}

/** `init`: writes the configuration that a careful person starts with. 1 when there is a configuration already, which stays as it is. */
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

function shown(value: unknown): string {
  if (value === null) return "-";
  if (Array.isArray(value)) return value.join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const SAFETY = "safety.";

function firstConfig(): object {
  const rows = Object.entries(CONFIG_KEYS).filter(([name]) => name.startsWith(SAFETY));
  return { safety: Object.fromEntries(rows.map(([name, row]) => [name.slice(SAFETY.length), row.default])) };
}
