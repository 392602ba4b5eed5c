import { isIPv6 } from 'node:net';

/** What one caller has to itself: an IPv4 address, or the /64 network of an IPv6 one (RFC 6177). */
export function networkOf(address: string): string {
  const [withoutZone = ''] = address.split('%');
  if (!isIPv6(withoutZone)) return address;
  // Of the many ways to write an address, URLs know one.
  const [, text = ''] = /^\[(.*)\]$/.exec(new URL(`http://[${withoutZone}]`).hostname) ?? [];
  const [before = [], after = []] = text.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
