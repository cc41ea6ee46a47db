/** What an editor is told it can draw, and the slash command that shows what the session changed. */
import type { ProgramExtension } from "@chimera/host";
import { sessionDiff } from "../session-diff.js";

export const editorNotifications: ProgramExtension = {
  name: "editor-notifications",
  start: () => ({
    protocol: { name: "editor-notifications", capabilities: { streaming: true, cancellation: true } },
    commands: [
      {
        name: "diff",
        description: "Show what the file tools of this session changed",
        run: ({ sessions, session }) => sessionDiff(sessions, session),
      },
    ],
  }),
};
