/**
 * One broker for all transports: a request is a record that every attached client sees, the first answer wins, and nobody
 * there to answer means no.
 */
import type { Decision, Metadata, ResolvedBy } from "@chimera/acp-schema/events";
import { startTimer, type Timer } from "@chimera/acp-schema/timer";
import type { Ask } from "./agent-port.js";
import { SessionError } from "./errors.js";
import type { Place, Recorder } from "./recorder.js";

export interface PermissionBroker {
  ask(request: Parameters<Ask>[0], place: Place): ReturnType<Ask>;
  /** Throws `permission_not_found` or `already_resolved`. Resolves when the answer is on disk and the tool may run. */
  answer(permissionId: string, decision: Decision, origin?: string): Promise<void>;
  /** Denies every request without an answer. */
  release(by: Exclude<ResolvedBy, "client">): void;
  /** Requests nobody has answered yet, by id. */
  readonly open: ReadonlyMap<string, OpenPermission>;
}

export type OpenPermission = Metadata<"permission_request">;

export function createPermissionBroker(deps: {
  readonly recorder: Recorder;
  readonly durable: (seq: number) => Promise<void>;
  readonly approvers: () => number;
  readonly newId: () => string;
  /** Seconds to wait for an answer; 0 waits for ever. */
  readonly timeoutSeconds: number;
}): PermissionBroker {
  type Answer = Awaited<ReturnType<Ask>>;
  interface Pending {
    readonly place: Place;
    readonly request: OpenPermission;
    readonly settle: (answer: Answer) => void;
    readonly timer: Timer | undefined;
  }
  const open = new Map<string, Pending>();
  const answered = new Set<string>();

  const resolve = async (id: string, pending: Pending, decision: Decision, by: ResolvedBy, origin?: string) => {
    open.delete(id);
    answered.add(id);
    pending.timer?.stop();
    const place = origin === undefined ? pending.place : { ...pending.place, origin };
    try {
      const { seq } = deps.recorder.write(
        { type: "permission_resolved", metadata: { permission_id: id, decision, by } },
        place,
      );
      await deps.durable(seq);
      pending.settle({ decision, by });
    } catch (error) {
      // An answer that could not be recorded must not let a tool run.
      pending.settle({ decision: "deny", by: "rule" });
      throw error;
    }
  };

  return {
    get open() {
      return new Map([...open].map(([id, { request }]) => [id, request]));
    },
    ask: (request, place) =>
      new Promise((settle) => {
        const id = deps.newId();
        const options = request.options ?? (["allow", "always", "deny", "never"] as const);
        const metadata: OpenPermission = {
          permission_id: id,
          call_id: request.call_id,
          tool: request.tool,
          args: request.args,
          risk: request.risk,
          options: [...options],
        };
        try {
          deps.recorder.write({ type: "permission_request", metadata }, place);
        } catch {
          // A question that nobody can see is answered with no; the turn stops with the log's own error.
          settle({ decision: "deny", by: "rule" });
          return;
        }
        const expire = (by: ResolvedBy) => {
          const pending = open.get(id);
          if (pending) resolve(id, pending, "deny", by).catch(() => {});
        };
        const { timeoutSeconds } = deps;
        const timer = timeoutSeconds > 0 ? startTimer(timeoutSeconds * 1000, () => expire("timeout")) : undefined;
        open.set(id, { place, request: metadata, settle, timer });
        if (deps.approvers() === 0) expire("rule");
      }),
    async answer(permissionId, decision, origin) {
      const pending = open.get(permissionId);
      if (!pending) {
        throw answered.has(permissionId)
          ? new SessionError("already_resolved", `permission ${permissionId} was answered already`)
          : new SessionError("permission_not_found", `there is no open permission ${permissionId}`);
      }
      await resolve(permissionId, pending, decision, "client", origin);
    },
    release(by) {
      for (const [id, pending] of open) resolve(id, pending, "deny", by).catch(() => {});
    },
  };
}
