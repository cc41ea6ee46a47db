/**
 * A node is a process with one lease, by the database's clock, for all sessions it holds. It renews the lease after a third of its time.
 * When no renewal succeeds in time, another node may have the sessions, and this one stops at once, before it touches a file.
 */
import { randomBytes } from "node:crypto";
import { arrayOf, type Connections, part } from "./connect.js";

/** The live node `n` that holds the session `s`, for a JOIN. */
export const holder = part`chimera.node n ON n.node = s.owner AND n.lease_until > clock_timestamp()`;
/** Whether a live node holds the session `s`. */
export const isHeld = part`EXISTS (SELECT 1 FROM chimera.node n WHERE n.node = s.owner AND n.lease_until > clock_timestamp())`;

export type Lease = ReturnType<typeof createLease>;

export interface LeaseOptions {
  readonly host: string;
  /** The program's name, which other nodes show to people. */
  readonly program: string | null;
  readonly leaseMs: number;
  readonly onError: (error: unknown) => void;
}

export function createLease({ signs, writes }: Connections, { host, program, leaseMs, onError }: LeaseOptions) {
  const node = `${process.pid}-${randomBytes(6).toString("hex")}`;
  const held = new Map<string, { readonly fence: number; readonly life: AbortController }>();
  /** When the last successful renewal was sent. The lease counts from then, because the renewal may have reached the database at once. */
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
    // A delayed renewal may arrive after the lease is over and another node has the sessions.
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
    /** Resolves when the database knows this node. */
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
    /** Holds a session until it is released; the signal is aborted when the session is lost. */
    hold(sid: string, fence: number): AbortSignal {
      const life = new AbortController();
      held.set(sid, { fence, life });
      return life.signal;
    },
    holds: (sid: string) => held.has(sid),
    /** Releases the session, so that other nodes can claim it. */
    async release(sid: string) {
      const hold = held.get(sid);
      held.delete(sid);
      if (hold === undefined) return;
      await writes.sql`
        UPDATE chimera.session SET owner = NULL WHERE sid = ${sid} AND owner = ${node} AND fence = ${hold.fence}`;
    },
    /** Forgets a deleted session. */
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
