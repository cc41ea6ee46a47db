/** `engines`: which programs can run turns, what one of them can do, and logging in to it. */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { type Invocation, openCore } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { CliError } from "../errors.js";
import { textFlag } from "../flags.js";
import { printList, printReport } from "../output.js";
import { plain } from "../terminal/text.js";

export async function listEngines(invocation: Invocation): Promise<number> {
  const { core } = await openCore(invocation);
  const rows = core.engines.list();
  await core.close();
  const columns = [
    { title: "NAME", cell: (row: Row) => row.name },
    { title: "INSTALLED", cell: (row: Row) => (row.installed ? "yes" : "no") },
    { title: "DESCRIPTION", cell: (row: Row) => row.description },
  ];
  return printList(invocation, columns, rows);
}

export async function probeEngine(invocation: Invocation): Promise<number> {
  return withEngine(invocation, async (engine, cwd) => {
    const { about, opened } = await engine.probe(cwd);
    const { agentInfo, agentCapabilities, authMethods } = about;
    const { configOptions, modes, error } = opened as Opened;
    const facts = [
      `program      ${agentInfo?.name ?? "it gives no name"} ${agentInfo?.version ?? ""}`.trimEnd(),
      `resumes      ${agentCapabilities.sessionCapabilities.resume ? "yes" : agentCapabilities.loadSession ? "by loading" : "no: it gets the conversation as text"}`,
      `takes        ${["image", "audio"].filter((one) => agentCapabilities.promptCapabilities[one as "image"]).join(", ") || "text only"}`,
      `logins       ${authMethods.map(({ id }) => id).join(", ") || "none"}`,
      `modes        ${(modes?.availableModes ?? []).map(({ id }) => id).join(", ") || "none"}`,
      `options      ${(configOptions ?? []).map(({ id }) => id).join(", ") || "none"}`,
      ...(error === undefined ? [] : [`session      ${error}`]),
    ];
    return printReport(invocation, { about, opened }, facts.map(plain));
  });
}

export async function loginEngine(invocation: Invocation): Promise<number> {
  return withEngine(invocation, async (engine, cwd, way) => {
    const { way: used, terminal } = await engine.login(cwd, way);
    if (terminal) {
      const { status } = spawnSync(terminal.command, terminal.args, { cwd, env: terminal.env, stdio: "inherit" });
      if (status !== 0) throw new CliError("failed", `the login by ${used} ended with exit code ${status}`);
    }
    return printReport(invocation, { way: used }, [`logged in by ${used}`]);
  });
}

// --- internal ---

type Core = Awaited<ReturnType<typeof openCore>>["core"];
type Row = ReturnType<Core["engines"]["list"]>[number];
type Engine = Awaited<ReturnType<Core["engines"]["open"]>>;

interface Opened {
  readonly modes?: { readonly availableModes: readonly { readonly id: string }[] } | null;
  readonly configOptions?: readonly { readonly id: string }[] | null;
  readonly error?: string;
}

async function withEngine(
  invocation: Invocation,
  use: (engine: Engine, cwd: string, way: string | undefined) => Promise<number>,
): Promise<number> {
  const name = requireOperand(invocation, "an engine: engines list shows them");
  const cwd = resolve(invocation.process.cwd(), textFlag(invocation.flags, "cwd") ?? ".");
  const { core } = await openCore(invocation);
  try {
    return await use(await core.engines.open(name), cwd, invocation.operands[2]);
  } finally {
    await core.close();
  }
}
