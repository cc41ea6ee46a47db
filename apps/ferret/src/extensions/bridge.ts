/** The bridge: a remote console that watches and drives the sessions of this program, when one was named. */
import { lazyMethods } from "@chimera/acp-server";
import type { ProgramExtension } from "@chimera/host";
import { createApprovals } from "../approval/approvals.js";
import { type BridgesDeps, createBridges } from "../bridge/bridges.js";
import { readRemote } from "../bridge/remote.js";
import { projectBounds } from "../project-bounds.js";

/** `hooks` take the place of the log, for a command whose only transport is the bridge. */
export function createBridgeExtension(hooks: Partial<Pick<BridgesDeps, "report" | "onExit">> = {}): ProgramExtension {
  return {
    name: "bridge",
    start(context) {
      const { log } = context;
      const remote = readRemote(context);
      const onExit: BridgesDeps["onExit"] = ({ code, message }) => {
        if (code !== 0) log.error("the bridge has ended; the sessions go on without it", { reason: message });
      };
      const bounds = projectBounds(context);
      const approvals = createApprovals(bounds);
      const boundsOf: BridgesDeps["boundsOf"] = (session) => ({
        sandbox: bounds.sandbox(session.cwd),
        approval: approvals.of(session),
      });
      const bridges = remote && createBridges({ remote, boundsOf, report: log.info, onExit, ...hooks });
      return {
        protocol: {
          name: "bridge",
          capabilities: { bridge: true },
          methods: () =>
            lazyMethods(["session/bridgeStatus"], async () =>
              (await import("../methods/bridge-status.js")).bridgeStatus(bridges),
            ),
        },
        ...(bridges && { onLoad: bridges.begin, onUnload: bridges.end }),
      };
    },
  };
}
