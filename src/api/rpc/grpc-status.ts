/**
 * Writes the status of gRPC. Connect percent-encodes all but letters and digits of a message, as URIs do; gRPC encodes
 * only what no header may have, and `%`: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#responses
 * A space may be encoded, and is: documented calls have always answered so, and HTTP drops spaces at the end of a header.
 */
import type { ConnectError } from '@connectrpc/connect';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';

const NAME = 'grpc-message';

/** Sets status, message and details. Returns the headers. */
export function setGrpcStatus(headers: Headers, error: ConnectError): Headers {
  setTrailerStatus(headers, error);
  if (headers.has(NAME)) headers.set(NAME, encodeMessage(error.rawMessage));
  return headers;
}

function encodeMessage(message: string): string {
  return message.replace(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent);
}

/** Returns the response of Connect's own handlers with the message in the encoding of gRPC. */
export function mendMessage(response: UniversalServerResponse): UniversalServerResponse {
  for (const headers of [response.header, response.trailer]) {
    const message = headers?.get(NAME);
    if (message) headers?.set(NAME, reencode(message));
  }
  const isWeb = response.header?.get('content-type')?.startsWith('application/grpc-web') ?? false;
  return isWeb && response.body ? { ...response, body: mendFrames(response.body) } : response;
}

function reencode(message: string): string {
  try {
    return encodeMessage(decodeURIComponent(message));
  } catch {
    return message;
  }
}

/** The flags of an uncompressed frame with the trailers of gRPC-Web. */
const TRAILERS = 0x80;
const HEAD_BYTES = 5;

/** Connect yields a frame at a time. */
async function* mendFrames(frames: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const frame of frames) yield frame[0] === TRAILERS ? mendFrame(frame) : frame;
}

function mendFrame(frame: Uint8Array): Uint8Array {
  const text = Buffer.from(frame.subarray(HEAD_BYTES)).toString('latin1');
  const mended = text.replace(
    /^(grpc-message: *)(.*)$/im,
    (_, name: string, message: string) => name + reencode(message),
  );
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(TRAILERS);
  head.writeUInt32BE(mended.length, 1);
  return Buffer.concat([head, Buffer.from(mended, 'latin1')]);
}
