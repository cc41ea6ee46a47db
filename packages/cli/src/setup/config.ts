/** `config`: every setting, its value and where it came from. */
import { type Invocation, readConfig, type Setting } from "@chimera/host";
import { isSet } from "../flags.js";
import { printJson, printLines, screenWidth } from "../output.js";
import { complain } from "../reported.js";
import { renderTable } from "../terminal/table.js";

export async function showConfig(invocation: Invocation): Promise<number> {
  const { settings, problems } = readConfig(invocation);
  if (isSet(invocation.flags, "json")) printJson(invocation, { settings, problems });
  else {
    const columns = [
      { title: "SETTING", cell: (row: Setting) => row.name },
      { title: "VALUE", cell: (row: Setting) => shown(row.value) },
      { title: "FROM", cell: (row: Setting) => (row.from ? `${row.layer}: ${row.from}` : row.layer) },
    ];
    printLines(invocation, await renderTable(columns, settings, screenWidth(invocation)));
    for (const problem of problems) complain(invocation, problem);
  }
  return 0;
}

// --- internal ---

function shown(value: unknown): string {
  if (value === null) return "-";
  if (Array.isArray(value)) return value.join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
