/** gRPC-Web in base64. */
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import { malformedMessage } from '../call-errors.ts';
import { toConnectError } from './connect-errors.ts';

/** Clients encode each frame by itself, so that padding may be anywhere. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)*$/;

/** @throws ConnectError if the text is no base64 */
export async function* decodeBase64(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let rest = '';
  for await (const bytes of body) {
    const text = rest + Buffer.from(bytes).toString('latin1');
    const end = text.length - (text.length % 4);
    rest = text.slice(end);
    yield decode(text.slice(0, end));
  }
  if (rest) throw toConnectError(malformedMessage());
}

function decode(text: string): Uint8Array {
  if (!BASE64.test(text)) throw toConnectError(malformedMessage());
  // Node ignores what follows the first padding.
  return Buffer.concat(text.split(/(?<==)(?=[^=])/).map((part) => Buffer.from(part, 'base64')));
}

/** Encodes the body of a gRPC-Web response. */
export function toTextResponse(response: UniversalServerResponse): UniversalServerResponse {
  const header = new Headers(response.header);
  header.set('content-type', (header.get('content-type') ?? '').replace('grpc-web', 'grpc-web-text'));
  return { ...response, header, ...(response.body && { body: encodeBase64(response.body) }) };
}

async function* encodeBase64(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const bytes of body) yield Buffer.from(Buffer.from(bytes).toString('base64'));
}
