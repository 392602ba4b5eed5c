import type { ServerHttp2Stream } from 'node:http2';
import { ServiceError } from '../../domain/core/errors.ts';
import { JoinedBytes } from '../../encoding/joined-bytes.ts';
import { malformedMessage } from '../call-errors.ts';
import { messageTooLarge } from './connect-errors.ts';

/** The prefix of a "Length-Prefixed-Message": one byte of flags, and four of length. */
const PREFIX_BYTES = 5;
const COMPRESSED_FLAG = 1;

/**
 * Returns the bytes of the one message of a unary request.
 *
 * @throws ServiceError unless there is exactly one message, well-formed, uncompressed and not too large; or if the client
 * has reset the stream
 */
export function readGrpcMessage(stream: ServerHttp2Stream, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const joined = new JoinedBytes();
    const onReadable = () => {
      for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) joined.add(chunk);
      // The message is too large already: do not wait for its end.
      if (joined.length > PREFIX_BYTES + maxBytes || announcesMore(maxBytes, joined.bytes)) settle();
    };
    const settle = () => {
      stream.off('readable', onReadable).off('end', settle).off('close', settle);
      // The caller no longer expects an answer.
      if (stream.closed) return reject(new ServiceError('CANCELED'));
      try {
        resolve(parseMessage(joined.bytes, maxBytes));
      } catch (error) {
        reject(error);
      }
    };
    stream.on('readable', onReadable).once('end', settle).once('close', settle);
    // The stream may have ended or closed while the credential was checked.
    if (stream.readableEnded || stream.destroyed) settle();
  });
}

function announcesMore(maxBytes: number, bytes: Buffer): boolean {
  return bytes.length >= PREFIX_BYTES && bytes.readUInt32BE(1) > maxBytes;
}

function parseMessage(bytes: Buffer, maxBytes: number): Uint8Array {
  if (bytes.length === 0) throw protocolError('missing input message for unary method');
  if (bytes.length < PREFIX_BYTES) throw malformedMessage();
  const end = PREFIX_BYTES + bytes.readUInt32BE(1);
  if (end - PREFIX_BYTES > maxBytes) throw messageTooLarge(end - PREFIX_BYTES, maxBytes);
  const isCompressed = ((bytes[0] ?? 0) & COMPRESSED_FLAG) !== 0;
  if (end > bytes.length) throw malformedMessage();
  if (isCompressed) throw new ServiceError('COMPRESSED_WITHOUT_ENCODING');
  if (end === bytes.length) return bytes.subarray(PREFIX_BYTES);
  throw isWholeFrame(bytes.subarray(end))
    ? protocolError('received extra input message for unary method')
    : malformedMessage();
}

function isWholeFrame(bytes: Buffer): boolean {
  return bytes.length >= PREFIX_BYTES && bytes.length >= PREFIX_BYTES + bytes.readUInt32BE(1);
}

/** Uses the wording of Connect. */
function protocolError(message: string): ServiceError {
  return new ServiceError('PROTOCOL_ERROR', { message: `protocol error: ${message}` });
}
