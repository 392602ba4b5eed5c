/** Which addresses webhooks may be delivered to: public ones, and the networks that the operator allows. */
import { BlockList, isIP } from 'node:net';
import { expandIPv6 } from '../../encoding/ipv6.ts';

/** IANA's special-purpose registry, multicast, and the metadata service of Azure, which has a public address. */
const FORBIDDEN_V4 = createBlockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]);
/** With the embedded Postgres, webhooks may reach these networks, so that they can be tried on one machine. */
export const LOOPBACK: readonly string[] = ['127.0.0.0/8', '::1/128'];
const GLOBAL_V6 = createBlockList(['2000::/3']);
/** Protocol assignments with Teredo, documentation, and 6to4. */
const FORBIDDEN_V6 = createBlockList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);
const NAT64 = createBlockList(['64:ff9b::/96']);

/** Decides to which URLs and addresses Usher sends. */
export class AddressPolicy {
  readonly #exceptions: BlockList;
  /** Whether the operator allows any networks. To these, plain http is allowed. */
  readonly hasExceptions: boolean;

  /** `allowedNetworks` are addresses or CIDR ranges that are allowed besides public addresses. */
  constructor(allowedNetworks: readonly string[]) {
    this.#exceptions = createBlockList(allowedNetworks);
    this.hasExceptions = allowedNetworks.length > 0;
  }

  /** Returns whether the address, as text without brackets, is public or an exception. */
  allows(address: string): boolean {
    return this.isException(address) || isPublic(address);
  }

  /**
   * Returns whether the address is in a network that the operator allows. To such an address, plain http is allowed.
   */
  isException(address: string): boolean {
    // A text that is no address is in no list.
    return this.#exceptions.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
}

function isPublic(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !FORBIDDEN_V4.check(address, 'ipv4');
  // An address with a zone is local to a link.
  if (version !== 6 || address.includes('%')) return false;
  const groups = expandIPv6(address).map((group) => Number.parseInt(group, 16));
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return isPublic(toV4(groups));
  // `net.BlockList` finds an embedded IPv4 address in ::ffff:0:0/96 only.
  if (NAT64.check(address, 'ipv6')) return isPublic(toV4(groups));
  // RFC 5214: an ISATAP address embeds an IPv4 address.
  const isIsatap = ((groups[4] ?? 0) & 0xfdff) === 0 && groups[5] === 0x5efe;
  if (isIsatap && !isPublic(toV4(groups))) return false;
  return GLOBAL_V6.check(address, 'ipv6') && !FORBIDDEN_V6.check(address, 'ipv6');
}

/** Returns the IPv4 address in the last two groups. */
function toV4(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** Returns a list of the addresses and CIDR ranges. */
export function createBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const isV4 = isIP(address) === 4;
    list.addSubnet(address, Number(prefix ?? (isV4 ? 32 : 128)), isV4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** Returns which rule the URL of a webhook violates, or undefined. Each attempt checks the addresses to which the host resolves. */
export function findUrlProblem(text: string, policy: AddressPolicy): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute http or https URL';
  const url = new URL(text);
  const host = hostOf(url);
  const isAddress = isIP(host) !== 0;
  if (url.username || url.password) return 'must not have user information';
  // Services that do not speak HTTP listen on the low ports.
  const port = Number(url.port || 443);
  if (port < 1024 && port !== 80 && port !== 443) return 'must have port 80, 443 or one from 1024';
  if (isAddress && !policy.allows(host)) return 'must have a public address';
  // RFC 6761: names below localhost are this machine.
  if (/(^|\.)localhost\.?$/.test(host) && !policy.allows('127.0.0.1')) return 'must have a public address';
  const mayBePlain = isAddress ? policy.isException(host) : policy.hasExceptions;
  if (url.protocol !== 'https:' && !mayBePlain) return 'must be an https URL';
  return undefined;
}

/** Returns the host of a URL without the brackets of an IPv6 address. The URL parser has made it canonical. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
