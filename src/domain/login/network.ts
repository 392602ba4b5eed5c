import { isIPv6 } from 'node:net';

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

/** Returns the eight groups of an IPv6 address, in one spelling, or undefined for another address. */
function groupsOf(address: string): string[] | undefined {
  const [withoutZone = ''] = address.split('%');
  if (!isIPv6(withoutZone)) return undefined;
  // The URL parser normalises the spelling of the address.
  const [, text = ''] = /^\[(.*)\]$/.exec(new URL(`http://[${withoutZone}]`).hostname) ?? [];
  const [before = [], after = []] = text.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after];
}
