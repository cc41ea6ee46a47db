/** `trust`: the directories that a person trusts, and how that is taken back. It is given by `--trust`, by `/trust` or when asked. */
import { resolve } from "node:path";
import { type Invocation, readConfig } from "@chimera/host";
import { CliError } from "../errors.js";
import { printLines, printList } from "../output.js";

export async function listTrusted(invocation: Invocation): Promise<number> {
  const rows = readConfig(invocation)
    .trust.list()
    .map((directory) => ({ directory }));
  return printList(invocation, [{ title: "DIRECTORY", cell: ({ directory }) => directory }], rows);
}

/** Also a directory that is gone: its name may come back with other files. */
export async function revokeTrust(invocation: Invocation): Promise<number> {
  const { cwd, trust } = readConfig(invocation);
  const directory = resolve(cwd, invocation.operands[0] ?? ".");
  const before = trust.list();
  trust.answer(directory, false);
  if (trust.list().length === before.length) throw new CliError("not_found", `${directory} was not trusted`);
  printLines(invocation, [`${directory} is no longer trusted`]);
  return 0;
}
