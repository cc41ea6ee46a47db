import { isLost } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { ferretDialect, otterDialect, standardDialect } from "@chimera/acp-server";
import { openaiFirst } from "@chimera/agent/providers";
import { type Command, type Profile, type ProgramExtension, SESSION_FLAGS } from "@chimera/host";
import type { Session, Sessions } from "@chimera/session";
import { about } from "./about.js";
import { approvalExtension } from "./approval.js";
import { createBridgeExtension } from "./bridge.js";
import { sandboxExtension } from "./sandbox.js";
import { flags, settings } from "./settings.js";

/** Announces capabilities to editors, and adds the slash command that shows the session's changes. */
const editorNotifications: ProgramExtension = {
  name: "editor-notifications",
  start: () => ({
    protocol: { name: "editor-notifications", capabilities: { streaming: true, cancellation: true } },
    commands: [
      {
        name: "diff",
        description: "Show the changes by the file tools of this session",
        run: ({ sessions, session }) => sessionDiff(sessions, session),
      },
    ],
  }),
};

/** Ferret's extensions. Each restricts what those before it allow. */
const extensions: readonly ProgramExtension[] = [
  approvalExtension,
  sandboxExtension,
  editorNotifications,
  createBridgeExtension(),
];

/** ferret: for editors. ACP by default, HTTP on request; sandboxed, with approval presets. */
export const profile: Profile = {
  ...about,
  title: "Ferret",
  tagline: "a sandboxed coding agent for your editor",
  defaultTransport: "acp",
  permitFlag: "--full-auto",
  dialects: [ferretDialect, standardDialect, otterDialect],
  chain: openaiFirst,
  settings,
  flags,
  page: async () => (await import("@chimera/web-page")).readPage(),
  extensions,
};

export function bridgeCommand(name: string): Command {
  return {
    name: "bridge",
    summary: "Let a remote console drive a session here",
    operands: "[<session>]",
    maxOperands: 1,
    flags: SESSION_FLAGS,
    startsSessions: true,
    example: `${name} bridge --remote-url https://console.example`,
    load: async () => (await import("./bridge-command.js")).runBridge,
  };
}

// --- internal ---

const MAX_DIFF_CHARS = 64 * 1024;

/** The changes by a session's file tools as unified diffs, without undone turns. */
async function sessionDiff(sessions: Sessions, session: Session): Promise<string> {
  const hidden = session.conversation.hidden();
  let text = "";
  for await (const entry of sessions.logs.read(session.id)) {
    if (isLost(entry) || entry.type !== "file_edit") continue;
    const { event } = entry;
    if (event.type !== "file_edit" || (event.turn !== null && hidden.has(event.turn))) continue;
    text += event.metadata.diff.endsWith("\n") ? event.metadata.diff : `${event.metadata.diff}\n`;
    if (text.length > MAX_DIFF_CHARS) return `${startOf(text, MAX_DIFF_CHARS)}\n[more changes are not shown]`;
  }
  return text || "/diff: no file was changed";
}
