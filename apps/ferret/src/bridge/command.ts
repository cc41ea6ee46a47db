/** `bridge`: its row. */
import { type Command, SESSION_FLAGS } from "@chimera/host";

export function bridgeCommand(name: string): Command {
  return {
    name: "bridge",
    summary: "Let a remote console drive a session here",
    operands: "[session]",
    maxOperands: 1,
    flags: SESSION_FLAGS,
    startsSessions: true,
    example: `${name} bridge --remote-url https://console.example`,
    load: async () => (await import("./run-command.js")).runBridge,
  };
}
