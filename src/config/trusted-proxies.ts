import { BlockList, isIP } from 'node:net';
import { splitList } from './parse-setting.ts';

/** @throws Error that names an entry that is neither an address nor a CIDR range */
export function parseTrustedProxies(entries: readonly string[]): BlockList {
  const proxies = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix, ...more] = entry.split('/');
    const version = isIP(address);
    const bits = version === 4 ? 32 : 128;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (version === 0 || !(length <= bits) || more.length > 0) {
      throw new Error(`${entry} is neither an IP address nor a CIDR range`);
    }
    proxies.addSubnet(address, length, version === 4 ? 'ipv4' : 'ipv6');
  }
  return proxies;
}

/** @throws Error that names an entry that is neither an address nor a CIDR range */
export function parseNetworks(text: string): readonly string[] {
  const entries = splitList(text);
  parseTrustedProxies(entries);
  return entries;
}
