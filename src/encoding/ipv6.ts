/** Returns the eight groups of an IPv6 address, in canonical hex. @throws TypeError if the address has a zone */
export function expandIPv6(address: string): string[] {
  // The URL parser normalises the spelling, and writes an embedded IPv4 address as two groups.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [before = [], after = []] = canonical.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after];
}
