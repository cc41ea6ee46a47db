/** `config`: shows every setting, its value and its origin. `init`: writes a first configuration. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { MODE_FLAGS, type Mode } from "@chimera/acp-schema/conversation";
import { type Invocation, readConfig, requireWritable, resolvePaths, type Setting } from "@chimera/host";
import { MODE_WORDS, modeChoices } from "../client/client.js";
import { isSet } from "../flags.js";
import { printLines, printList, styleFor } from "../output.js";
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

/**
 * Writes a first configuration with the mode that the person chooses, checks the model and its key, and shows the snippet for an editor.
 * Uses the careful mode when there is nobody to ask. Returns 1 if there is a configuration already, and leaves that unchanged.
 */
export async function writeFirstConfig(invocation: Invocation): Promise<number> {
  const { process } = invocation;
  const { config } = resolvePaths(process.env);
  const isHere = process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (existsSync(config)) {
    complain(invocation, `${config} exists already and stays unchanged`);
    return 1;
  }
  const mode = isHere ? await chooseMode(invocation) : CAREFUL;
  if (mode === null) {
    complain(invocation, "no mode was chosen, and nothing is written");
    return 1;
  }
  requireWritable(dirname(config));
  await writeFile(config, `${JSON.stringify(firstConfig(mode), null, 2)}\n`, { flag: "wx", mode: 0o600 });
  const style = styleFor(invocation);
  printLines(invocation, [`wrote ${config}: sessions open in ${mode} (${MODE_WORDS[mode]})`, ""]);
  const { checkKeys, describeFinding } = await import("./doctor.js");
  printLines(invocation, [...describeFinding("model", await checkKeys(invocation, isHere), style), ""]);
  const [command = "", ...first] = invocation.calledAs.split(" ");
  const server = { type: "custom", command, args: [...first, "acp"], env: {} };
  const snippet = { agent_servers: { [invocation.profile.name]: server } };
  printLines(invocation, [
    "For an editor that speaks ACP, as Zed and those of JetBrains do, in its settings:",
    ...JSON.stringify(snippet, null, 2).split("\n"),
    "",
    `${invocation.calledAs} starts a conversation here, ${invocation.calledAs} doctor checks the rest.`,
  ]);
  return 0;
}

// --- internal ---

function shown(value: unknown): string {
  if (value === null || (typeof value === "object" && Object.keys(value).length === 0)) return "-";
  if (Array.isArray(value)) return value.join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const CAREFUL: Mode = "review";

async function chooseMode(invocation: Invocation): Promise<Mode | null> {
  const { pickOne } = await import("../conversation/start.js");
  // The careful mode comes first, so that Enter chooses it.
  const choices = modeChoices().sort((a, b) => Number(b.value === CAREFUL) - Number(a.value === CAREFUL));
  return (await pickOne(invocation, "mode of new sessions:", choices)) as Mode | null;
}

function firstConfig(mode: Mode): object {
  const { readOnly, autoApproveWrites, autoApproveExecute } = MODE_FLAGS[mode];
  return {
    safety: {
      read_only: readOnly,
      require_approval_for_writes: !autoApproveWrites,
      require_approval_for_execute: !autoApproveExecute,
    },
  };
}
