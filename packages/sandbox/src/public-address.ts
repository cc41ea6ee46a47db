/** Decides whether an address from a model or a stranger may be connected to: only those of the public internet. */
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { words } from "./words.js";

/** Resolves a name to addresses, like `dns.lookup` with `all`. */
export type ResolveName = (name: string) => Promise<readonly { address: string; family: number }[]>;

/**
 * Whether the host of a URL may be public, judged before a name is resolved.
 *
 * @example
 * isPublicHost(new URL("http://127.0.0.1/")); // false
 */
export function isPublicHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return isIP(host) === 0 ? !isPrivateName(host) : isPublicAddress(host);
}

export interface PublicLookup {
  /** @defaultValue the system's resolver */
  readonly resolve?: ResolveName | undefined;
  /** The error of a refused lookup. Use the same error for all refusals, so that it reveals nothing about the network. */
  readonly refusal: () => Error;
}

/**
 * A lookup for sockets that refuses a name if any of its addresses is not public. The socket connects only to checked addresses. The name
 * is resolved twice, to refuse one that is public first and private a moment later.
 *
 * @example
 * const lookup = publicLookup({ refusal: () => new Error("this address is not public") });
 * https.get(url, { lookup }, read);
 */
export function publicLookup({ resolve = resolveName, refusal }: PublicLookup): LookupFunction {
  const publicAddresses = async (name: string) => {
    const before = await resolve(name);
    const addresses = await resolve(name);
    if (addresses.length > 0 && [...before, ...addresses].every(({ address }) => isPublicAddress(address))) {
      return [...addresses];
    }
    throw refusal();
  };
  return (name, options, callback) => {
    publicAddresses(name).then(
      (addresses) => {
        if (options.all) callback(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error) => callback(error, ""),
    );
  };
}

// --- internal ---

const resolveName: ResolveName = (name) => lookup(name, { all: true });

const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];
/** Public addresses that lead to internal services in a cloud's virtual machines. */
const CLOUD_INTERNAL: ReadonlySet<string> = new Set(["168.63.129.16"]);
const PRIVATE_SUFFIXES = words(".localhost .localdomain .local .internal .home.arpa .lan .intranet .corp .home");

/** True for an address of the public internet. Mapped, translated and tunnelled forms do not count. */
function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  // Only 2000::/3 is assigned. ::a.b.c.d, which means an IPv4 host, is outside it.
  if (parsed.kind() === "ipv6") return parsed.match(GLOBAL_UNICAST);
  return !CLOUD_INTERNAL.has(address);
}

/** True for a name that is never a public host, whatever it resolves to here. */
function isPrivateName(name: string): boolean {
  const bare = name.toLowerCase().replace(/\.$/, "");
  return !bare.includes(".") || PRIVATE_SUFFIXES.some((suffix) => bare.endsWith(suffix));
}
