/** Which addresses a stranger, or a model, may have us connect to: only those of the public internet. */
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

/** Resolves a name to addresses, as `dns.lookup` with `all` does. */
export type ResolveName = (name: string) => Promise<readonly { address: string; family: number }[]>;

/** Whether the host of an address may be reached as far as it shows before a name is looked up. */
export function isPublicHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return isIP(host) === 0 ? !isPrivateName(host) : isPublicAddress(host);
}

export interface PublicLookup {
  /** @defaultValue the system's resolver */
  readonly resolve?: ResolveName | undefined;
  /** What a lookup fails with. It should be the same for every refusal: then it says nothing of what is there. */
  readonly refusal: () => Error;
}

/**
 * A lookup for a socket that refuses names with any address that is not public. The socket connects to addresses that were
 * checked; the name is asked for twice, because one that is public now and private a moment later is not meant to be reached.
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
/** Public by its number, yet answered inside a cloud's virtual machines. */
const CLOUD_INTERNAL: ReadonlySet<string> = new Set(["168.63.129.16"]);
const PRIVATE_SUFFIXES = [".localhost", ".local", ".internal", ".home.arpa", ".lan", ".intranet", ".corp", ".home"];

/** True for an address that anybody on the internet could be at. Mapped, translated and tunnelled forms are not. */
function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  // Only 2000::/3 is given out; ::a.b.c.d, which names an IPv4 host, lies outside.
  if (parsed.kind() === "ipv6") return parsed.match(GLOBAL_UNICAST);
  return !CLOUD_INTERNAL.has(address);
}

/** True for a name that never leads to the public internet, whatever it resolves to here. */
function isPrivateName(name: string): boolean {
  const bare = name.toLowerCase().replace(/\.$/, "");
  return !bare.includes(".") || PRIVATE_SUFFIXES.some((suffix) => bare.endsWith(suffix));
}
