import { isIPv6 } from 'node:net';
import { expandIPv6 } from '../ipv6.ts';

/** Returns the network that one caller controls: an IPv4 address, or the /64 of an IPv6 address (RFC 6177). */
export function networkOf(address: string): string {
  const groups = groupsOf(address);
  return groups ? `${groups.slice(0, 4).join(':')}::/64` : address;
}

/** Returns the network that one organisation may control: the /24 of an IPv4 address, or the /48 of an IPv6 address. */
export function siteOf(address: string): string {
  const groups = groupsOf(address);
  return groups ? `${groups.slice(0, 3).join(':')}::/48` : address.replace(/\.\d+$/, '.0/24');
}

/** Returns undefined for an address that is not of IPv6. */
function groupsOf(address: string): string[] | undefined {
  const [withoutZone = ''] = address.split('%');
  return isIPv6(withoutZone) ? expandIPv6(withoutZone) : undefined;
}
