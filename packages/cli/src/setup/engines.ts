/** `engines`: lists the programs that can run turns, probes one, or logs in to one. */
import { spawnSync } from "node:child_process";
import type { Invocation, RunningCore } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { CliError } from "../errors.js";
import { type Column, printList, printReport } from "../output.js";
import { plain } from "../terminal/text.js";
import { withCore } from "../with-core.js";

export async function listEngines(invocation: Invocation): Promise<number> {
  const rows = await withCore(invocation, async ({ core }) => core.engines.list());
  const columns: Column<(typeof rows)[number]>[] = [
    { title: "NAME", cell: ({ name }) => name },
    { title: "INSTALLED", cell: ({ installed }) => (installed ? "yes" : "no") },
    { title: "DESCRIPTION", cell: ({ description }) => description },
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

type Engine = Awaited<ReturnType<RunningCore["engines"]["open"]>>;

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
  return withCore(invocation, async ({ core, config }) =>
    use(await core.engines.open(name), config.cwd, invocation.operands[1]),
  );
}
