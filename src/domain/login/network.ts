import { isIPv6 } from 'node:net';
import { expandIPv6 } from '../../encoding/ipv6.ts';

/**
 * Returns the network that a single caller usually controls: an IPv4 address, or the /64 of an IPv6 address (RFC 6177).
 */
export function networkOf(address: string): string {
  const groups = groupsOf(address);
  return groups ? `${groups.slice(0, 4).join(':')}::/64` : address;
}

/**
 * Returns the network that a single organisation may control: the /24 of an IPv4 address, or the /48 of an IPv6
 * address.
 */
export function siteOf(address: string): string {
  const groups = groupsOf(address);
  return groups ? `${groups.slice(0, 3).join(':')}::/48` : address.replace(/\.\d+$/, '.0/24');
}

/** Returns the eight groups of an IPv6 address, or undefined for any other address. */
function groupsOf(address: string): string[] | undefined {
  const [withoutZone = ''] = address.split('%');
  return isIPv6(withoutZone) ? expandIPv6(withoutZone) : undefined;
}
