/** The sandbox extension: one mode for commands, file tools and MCP servers, which is chosen at start and cannot change. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type ExtensionContext, type ProgramExtension, UsageError } from "@chimera/host";
import { type OsSandbox, SANDBOX_MODES, type SandboxMode } from "@chimera/sandbox";
import { type Session, SessionError } from "@chimera/session";
import { chosen, projectBounds } from "./settings.js";

const DESCRIPTIONS: Readonly<Record<SandboxMode, string>> = {
  "read-only": "Nothing can be written, and the network is closed",
  "workspace-write": "Only the workspace can be written, and the network is closed",
  "workspace-write-network": "Only the workspace can be written, and the network is open",
  off: "Nothing is confined",
};

const NEEDS_TOKEN =
  "with the network open, commands can reach this server like any program on this machine: requests must carry a token";

export const sandboxExtension: ProgramExtension = {
  name: "sandbox",
  start(context) {
    const mode = chosen(context, "sandbox") as SandboxMode;
    const osSandbox = context.values["os_sandbox"] as OsSandbox;
    const choices = Object.entries(DESCRIPTIONS).map(([id, description]) => ({ id, name: id, description }));
    const { sandbox: modeIn } = projectBounds(context);
    const restart = ({ cwd }: Pick<Session, "cwd">, requested: string) =>
      `restart required: sandbox mode ${modeIn(cwd)} is fixed while the program runs; start it with --sandbox ${requested}`;
    return {
      warnings: [...warningsOf(mode, osSandbox), ...uselessTools(mode, context)],
      directories: readDirectories(context),
      ...(SANDBOX_MODES[mode].confined && SANDBOX_MODES[mode].network && { needsToken: NEEDS_TOKEN }),
      protocol: {
        name: "sandbox",
        capabilities: { sandbox: true },
        options: [
          {
            id: "sandbox",
            name: "Sandbox",
            description: "What commands and tools can reach; a change needs a restart",
            choices,
            current: ({ cwd }) => modeIn(cwd),
            change(session, requested) {
              if (requested === modeIn(session.cwd)) return null;
              throw new SessionError("invalid_setting", restart(session, requested));
            },
          },
        ],
        methods: async (connection) => (await import("./methods.js")).setSandbox(connection, modeIn),
      },
      commands: [
        {
          name: "sandbox",
          description: "Show the sandbox mode",
          run({ session, args }) {
            if (args) return restart(session, args);
            const active = modeIn(session.cwd);
            return `sandbox: ${active} (${DESCRIPTIONS[active]})`;
          },
        },
      ],
      agent: async () => (await import("./confine.js")).confinementParts({ mode, modeIn, osSandbox, context }),
    };
  },
};

// --- internal ---

function readDirectories({ flags, cwd }: ExtensionContext): string[] {
  const given = [(flags["add-dir"] ?? []) as string | readonly string[]].flat();
  return given.map((path) => {
    const directory = resolve(cwd, path);
    if (statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return directory;
    throw new UsageError(`--add-dir: ${directory} is not a directory`);
  });
}

function warningsOf(mode: SandboxMode, osSandbox: OsSandbox): string[] {
  if (!SANDBOX_MODES[mode].confined) {
    return ["WARNING: the sandbox is off: commands and tools can read, write and reach everything that you can"];
  }
  return osSandbox === "off"
    ? [`WARNING: sandbox mode ${mode} without the operating system's wall: commands are judged by their text alone`]
    : [];
}

/** Warns about an allowed tool that is never offered, because an editor's terminal cannot be confined. */
function uselessTools(mode: SandboxMode, { values }: ExtensionContext): string[] {
  const named = (values.allowed_tools ?? []).some((name) => name.trim().toLowerCase() === "acp_terminal");
  return named && SANDBOX_MODES[mode].confined
    ? ["WARNING: acp_terminal is allowed and not offered: the sandbox cannot confine what runs in an editor's terminal"]
    : [];
}
