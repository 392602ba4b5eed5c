/** What the head of a request says, before any handler sees it. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type BlockList, isIP } from 'node:net';
import type { HttpErrorReason } from './errors.ts';

/** Limits the sum of all header names and values. */
export const MAX_HEADER_BYTES = 16_384;

/** Returns why the head is refused, or undefined if it is accepted. */
export function findHeadProblem(
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  { needsHost = true } = {},
): HttpErrorReason | undefined {
  if (countHeaderBytes(rawHeaders) > MAX_HEADER_BYTES) return 'HEADERS_TOO_LARGE';
  const isWithoutHost = headers[':authority'] === undefined && headers.host === undefined;
  if (isWithoutHost ? needsHost : !hasValidAuthority(headers, rawHeaders)) return 'INVALID_HOST';
  return undefined;
}

function countHeaderBytes(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/** Connect builds a URL from the authority. For an invalid one it would throw outside any handler. */
function hasValidAuthority(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): boolean {
  const authority = headers[':authority'] ?? headers.host;
  return (
    hasOneHost(rawHeaders) &&
    typeof authority === 'string' &&
    /^[^\s/?#@\\]+$/.test(authority) &&
    URL.canParse(`http://${authority}`)
  );
}

/**
 * Several Host headers are an error (RFC 9112, section 3.2): a proxy may have routed by another one than Usher reads.
 */
function hasOneHost(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') count++;
  return count <= 1;
}

/** Returns the caller's own request ID if it is well-formed, or a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:+/=-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Accepts the origin form, and the absolute form that proxies send (RFC 9112, section 3.2). */
export function splitTarget(target: string): { path: string; query: string } {
  const origin = /^https?:\/\/[^/?#]*/i.exec(target)?.[0] ?? '';
  const rest = target.slice(origin.length);
  const end = rest.indexOf('?');
  return end < 0 ? { path: rest || '/', query: '' } : { path: rest.slice(0, end) || '/', query: rest.slice(end + 1) };
}

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
