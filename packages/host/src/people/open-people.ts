/** The people of a running server: those on the list, by their tokens, and those that a trusted proxy names. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { createLife, type People } from "@chimera/http-server";
import type { Person } from "@chimera/session";
import { UsageError } from "../command/usage-error.js";
import type { Log } from "../log/log.js";
import { isPersonName, type ListPlace, parsePeople } from "./people-list.js";

/** How a proxy names the person that it signed in. */
export interface ProxyTrust {
  /** `10.0.0.0/8`, `127.0.0.1`. */
  readonly networks: readonly string[];
  readonly userHeader: string;
  /** The secret that the proxy sends in `X-Proxy-Secret`, so that other programs on its machine are not trusted. */
  readonly secret: string;
}

export interface OpenPeople extends People {
  /** Reads the list again, and cuts streams that were opened with a removed token. */
  reload(): Promise<void>;
}

export async function openPeople(place: ListPlace, proxy: ProxyTrust | null, log: Log): Promise<OpenPeople> {
  /** By the digest of the token. */
  let known = new Map<string, { readonly person: Person; readonly life: AbortController }>();
  let roles = new Map<string, Person>();
  const read = async () => {
    const people = parsePeople(await place.read());
    const next: typeof known = new Map();
    for (const { name, role, sha256 } of people) {
      const before = known.get(sha256);
      const isSame = before?.person.name === name && before.person.role === role;
      next.set(sha256, isSame ? before : { person: { name, role }, life: createLife() });
    }
    const gone = [...known.entries()].filter(([sha256, entry]) => next.get(sha256) !== entry);
    known = next;
    roles = new Map(people.map(({ name, role }) => [name, { name, role }]));
    for (const [, { life }] of gone) life.abort();
  };
  await read();
  // When the list cannot be read, the last one stays in use.
  const logFailure = (error: unknown) => log.error("the list of people was not read", { error: String(error) });
  const reload = () => read().catch(logFailure);
  place.onChange(() =>
    read().catch((error) => {
      logFailure(error);
      throw error;
    }),
  );
  const entryOf = (by: string) => {
    const [sha256 = ""] = by.split(" ", 1);
    const entry = known.get(sha256);
    return entry && nameOf(sha256, entry.person) === by ? entry : undefined;
  };
  const isTrusted = proxy && proxyCheck(proxy);
  return {
    reload,
    find(presented) {
      const sha256 = presented.toString("hex");
      const entry = known.get(sha256);
      return entry ? { person: entry.person, life: entry.life.signal, by: nameOf(sha256, entry.person) } : null;
    },
    async lifeOf(by) {
      // Another node may have added the person a moment ago.
      if (!entryOf(by)) await reload();
      return entryOf(by)?.life.signal ?? null;
    },
    ofProxy(request) {
      if (!proxy || !isTrusted?.(request)) return null;
      const named = request.headers[proxy.userHeader.toLowerCase()];
      if (typeof named !== "string" || !isPersonName(named)) return null;
      return { person: roles.get(named) ?? { name: named, role: "user" }, life: NEVER };
    },
  };
}

// --- internal ---

/** The name of a list entry on all nodes. It changes with the token, the name and the role. */
function nameOf(sha256: string, { name, role }: Person): string {
  return `${sha256} ${role} ${name}`;
}

/** The life of a person whom a proxy named: the proxy itself ends their connections. */
const NEVER = createLife().signal;

function proxyCheck({ networks, secret }: ProxyTrust): (request: IncomingMessage) => boolean {
  const trusted = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const most = family === "ipv6" ? 128 : 32;
    const prefix = bits === undefined ? most : Number(bits);
    if (isIP(address) === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > most) {
      throw new UsageError(
        `--trust-proxy takes an address or a network such as 10.0.0.0/8, not ${JSON.stringify(network)}`,
      );
    }
    trusted.addSubnet(address, prefix, family);
  }
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(secret);
  return ({ socket, headers }) => {
    const address = socket.remoteAddress?.replace(/^::ffff:/, "") ?? "";
    const given = headers["x-proxy-secret"];
    if (typeof given !== "string" || !timingSafeEqual(digest(given), expected)) return false;
    return trusted.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  };
}
