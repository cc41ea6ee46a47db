/** Undo, redo, and the snapshots that they use. */
import type { RewindReply, SnapshotDiffReply, SnapshotsReply } from "@chimera/acp-schema/http";
import { isSnapshotError } from "@chimera/snapshot-store";
import { HttpError } from "../http-error.js";
import { readBody } from "../request/body.js";
import { type Handler, type Handlers, pathPart, type RouteDeps } from "./route.js";

export function undoRoutes({ openSession }: RouteDeps) {
  const rewind =
    (direction: "undo" | "redo"): Handler =>
    async (c) => {
      const { steps, force, dry_run } = await readBody(c, `POST /sessions/{id}/${direction}`);
      const session = await openSession(pathPart(c, "id"));
      const report = await session[direction]({ steps, force, dryRun: dry_run });
      const { turns, remaining, files, conflicts, message } = report;
      return c.json({ turns, remaining, files: [...files], conflicts: [...conflicts], message } satisfies RewindReply);
    };
  return {
    "POST /sessions/{id}/undo": rewind("undo"),
    "POST /sessions/{id}/redo": rewind("redo"),
    "GET /sessions/{id}/snapshots": async (c) => {
      const { snapshots } = await openSession.read(pathPart(c, "id"));
      const list = (await snapshots?.list()) ?? [];
      return c.json({
        snapshots: list.map(({ snapId, turn, timestamp, files, skipped }) => ({
          snap_id: snapId,
          turn,
          timestamp: new Date(timestamp * 1000).toISOString(),
          files: files.map(({ path, change }) => ({ path, change })),
          skipped: { ...skipped },
        })),
      } satisfies SnapshotsReply);
    },
    "GET /sessions/{id}/snapshots/{snap}/diff": async (c) => {
      const snap_id = pathPart(c, "snap");
      const { snapshots } = await openSession.read(pathPart(c, "id"));
      const notFound = new HttpError(404, "snapshot_not_found", "this session has no such snapshot");
      const edits = await snapshots?.edits(snap_id).catch((cause: unknown) => {
        throw isSnapshotError(cause) && ["not_found", "invalid_id"].includes(cause.code) ? notFound : cause;
      });
      if (!edits) throw notFound;
      const files = edits.map(({ path, change, diff }) => ({ path, change, diff }));
      return c.json({ snap_id, files } satisfies SnapshotDiffReply);
    },
  } satisfies Handlers;
}
