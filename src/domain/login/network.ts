import { isIPv6 } from 'node:net';

/** Returns the network that one caller controls: an IPv4 address, or the /64 of an IPv6 address (RFC 6177). */
export function networkOf(address: string): string {
  const [withoutZone = ''] = address.split('%');
  if (!isIPv6(withoutZone)) return address;
  // The URL parser normalises the spelling of the address.
  const [, text = ''] = /^\[(.*)\]$/.exec(new URL(`http://[${withoutZone}]`).hostname) ?? [];
  const [before = [], after = []] = text.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
