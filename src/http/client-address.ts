import { type BlockList, isIP } from 'node:net';

/**
 * Returns the address of the client: the remote address, or, behind trusted proxies, the last address in
 * X-Forwarded-For that is not a trusted proxy.
 */
export function clientAddressOf(
  remoteAddress: string | undefined,
  forwardedFor: string | string[] | undefined,
  trustedProxies: BlockList,
): string {
  let address = withoutIPv4Mapping(remoteAddress ?? '');
  if (forwardedFor === undefined || !isTrusted(address, trustedProxies)) return address;
  for (const hop of String(forwardedFor).split(',').reverse()) {
    const candidate = withoutIPv4Mapping(withoutPort(hop.trim()));
    if (isIP(candidate) === 0) return address;
    address = candidate;
    if (!isTrusted(address, trustedProxies)) return address;
  }
  return address;
}

export function isTrustedProxy(remoteAddress: string | undefined, trustedProxies: BlockList): boolean {
  return isTrusted(withoutIPv4Mapping(remoteAddress ?? ''), trustedProxies);
}

function isTrusted(address: string, trustedProxies: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trustedProxies.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Some proxies add a port: `192.0.2.1:1234` or `[2001:db8::1]:1234`. */
function withoutPort(hop: string): string {
  const [, address = hop] = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop) ?? /^\[(.*)\](?::\d+)?$/.exec(hop) ?? [];
  return address;
}

function withoutIPv4Mapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
