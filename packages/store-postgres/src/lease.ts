/**
 * One node: a process with a lease, by the database's clock, for all sessions it holds. It renews the lease in a third of its time. When
 * that does not succeed in time, another node may have the sessions, and this one stops at once, before it touches a file.
 */
import { randomBytes } from "node:crypto";
import { arrayOf, type Connections } from "./connect.js";

export type Lease = ReturnType<typeof createLease>;

export interface LeaseOptions {
  readonly host: string;
  /** The program's name, for people who look for it. */
  readonly program: string | null;
  readonly leaseMs: number;
  readonly onError: (error: unknown) => void;
}

export function createLease({ signs, writes }: Connections, { host, program, leaseMs, onError }: LeaseOptions) {
  const node = `${process.pid}-${randomBytes(6).toString("hex")}`;
  const held = new Map<string, { readonly fence: number; readonly life: AbortController }>();
  /** When the last renewal that succeeded was sent; a renewal counts from then, because nobody knows how long it took on its way. */
  let renewedAt = 0;
  let renewing: Promise<void> | null = null;
  let begun: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  const loseAll = (): void => {
    const lives = [...held.values()];
    held.clear();
    for (const { life } of lives) life.abort();
  };
  const renew = async (): Promise<void> => {
    const sentAt = performance.now();
    await signs.sql`
      INSERT INTO chimera.node(node, host, pid, program, lease_until)
      VALUES (${node}, ${host}, ${process.pid}, ${program}, clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond')
      ON CONFLICT (node) DO UPDATE SET lease_until = excluded.lease_until`;
    // A renewal that was held up on its way may come after the lease is over and another node has the sessions.
    if (held.size > 0 && performance.now() - renewedAt > leaseMs) loseAll();
    renewedAt = sentAt;
  };
  const tick = (): void => {
    const age = performance.now() - renewedAt;
    if (age > leaseMs && held.size > 0) loseAll();
    if (renewing !== null || age < leaseMs / 3) return;
    renewing = renew()
      .catch(onError)
      .finally(() => {
        renewing = null;
      });
  };

  return {
    node,
    leaseMs,
    /** Resolves when the node is known to the others. */
    begin() {
      begun ??= renew().then(
        () => {
          timer = setInterval(tick, leaseMs / 10).unref();
        },
        (error: unknown) => {
          begun = null;
          throw error;
        },
      );
      return begun;
    },
    /** Keeps a session until it is released; the signal says when it was lost. */
    hold(sid: string, fence: number): AbortSignal {
      const life = new AbortController();
      held.set(sid, { fence, life });
      return life.signal;
    },
    holds: (sid: string) => held.has(sid),
    /** Lets others have the session. */
    async release(sid: string) {
      const hold = held.get(sid);
      held.delete(sid);
      if (hold === undefined) return;
      await writes.sql`
        UPDATE chimera.session SET owner = NULL WHERE sid = ${sid} AND owner = ${node} AND fence = ${hold.fence}`;
    },
    /** Forgets a session that is gone. */
    forget: (sid: string) => void held.delete(sid),
    async end() {
      clearInterval(timer);
      await renewing;
      if (begun === null) return;
      const left = arrayOf([...held.keys()]);
      held.clear();
      await signs.sql`UPDATE chimera.session SET owner = NULL WHERE sid = ANY(${left}::text[]) AND owner = ${node}`;
      await signs.sql`DELETE FROM chimera.node WHERE node = ${node}`;
    },
  };
}
