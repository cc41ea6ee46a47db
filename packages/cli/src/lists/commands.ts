/** `commands`: the slash commands of a session here, built in and from files. */
import { resolve } from "node:path";
import { type Invocation, openCore } from "@chimera/host";
import { isSet, textFlag } from "../flags.js";
import { printJson, printLines, screenWidth } from "../output.js";
import { renderTable } from "../terminal/table.js";

interface Row {
  readonly name: string;
  readonly description: string;
  readonly args: readonly { readonly name: string; readonly description: string }[];
  readonly source: string;
}

export async function listCommands(invocation: Invocation): Promise<number> {
  const { flags, process } = invocation;
  const cwd = resolve(process.cwd(), textFlag(flags, "cwd") ?? ".");
  const { core } = await openCore(invocation);
  const rows = new Map<string, Row>();
  try {
    const { palette } = core;
    for (const { name, description } of palette.commands)
      rows.set(name, { name, description, args: [], source: "built-in" });
    for (const { name, description, args, source } of await palette.custom(cwd))
      rows.set(name, { name, description, args, source });
  } finally {
    await core.close();
  }
  const commands = [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  if (isSet(flags, "json")) printJson(invocation, { commands });
  else {
    const columns = [
      { title: "NAME", cell: (row: Row) => `/${row.name}` },
      { title: "SOURCE", cell: (row: Row) => row.source },
      { title: "DESCRIPTION", cell: (row: Row) => row.description },
    ];
    printLines(invocation, await renderTable(columns, commands, screenWidth(invocation)));
  }
  return 0;
}
