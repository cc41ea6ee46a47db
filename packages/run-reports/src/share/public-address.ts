/** Which addresses a stranger may have us connect to: only those of the public internet. */
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { ReportError } from "../errors.js";

/** Resolves a name to addresses, as `dns.lookup` with `all` does. */
export type ResolveName = (name: string) => Promise<readonly { address: string; family: number }[]>;

/** True for an address that anybody on the internet could be at. Mapped, translated and tunnelled forms are not. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  // Only 2000::/3 is given out; ::a.b.c.d, which names an IPv4 host, lies outside.
  if (parsed.kind() === "ipv6") return parsed.match(GLOBAL_UNICAST);
  return !CLOUD_INTERNAL.has(address);
}

/** True for a name that never leads to the public internet, whatever it resolves to here. */
export function isPrivateName(name: string): boolean {
  const bare = name.toLowerCase().replace(/\.$/, "");
  return !bare.includes(".") || PRIVATE_SUFFIXES.some((suffix) => bare.endsWith(suffix));
}

/**
 * A lookup for a socket that refuses names with any address that is not public. The socket connects to addresses that were
 * checked; the name is asked for twice, because one that is public now and private a moment later is nobody's collector.
 */
export function publicLookup(resolve: ResolveName): LookupFunction {
  const publicAddresses = async (name: string) => {
    const before = await resolve(name);
    const addresses = await resolve(name);
    if (addresses.length > 0 && [...before, ...addresses].every(({ address }) => isPublicAddress(address))) {
      return [...addresses];
    }
    throw blocked();
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

/** The one answer for every refusal: it tells a stranger nothing of what is there. */
export function blocked(): ReportError {
  return new ReportError("blocked_url", "the address is not on the public internet");
}

// --- internal ---

const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];
/** Public by its number, yet answered inside a cloud's virtual machines. */
const CLOUD_INTERNAL: ReadonlySet<string> = new Set(["168.63.129.16"]);
const PRIVATE_SUFFIXES = [".localhost", ".local", ".internal", ".home.arpa", ".lan", ".intranet", ".corp", ".home"];
