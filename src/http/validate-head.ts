/** Validates the head of a request before any handler sees it. */
import type { IncomingHttpHeaders } from 'node:http';
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
