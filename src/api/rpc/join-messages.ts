/** Joins the pieces of a body to whole messages before Connect's decoders see them: those keep each piece as it comes. */
import { JoinedBytes } from '../../encoding/joined-bytes.ts';

/** The prefix of a message in an envelope: one byte of flags, and four of length. */
const PREFIX_BYTES = 5;

/** Yields whole envelopes. One that announces more than `maxBytes`, and what is left at the end, is passed on as it is. */
export async function* joinEnvelopes(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  const joined = new JoinedBytes();
  for await (const piece of body) {
    joined.add(piece);
    const length = lengthOfWhole(joined.bytes, maxBytes);
    if (length > 0) yield joined.take(length);
  }
  if (joined.length > 0) yield joined.take();
}

/** Yields a body at once, or what there is as soon as that is more than `maxBytes`. */
export async function* joinBody(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  const joined = new JoinedBytes();
  for await (const piece of body) {
    joined.add(piece);
    if (joined.length > maxBytes) yield joined.take();
  }
  if (joined.length > 0) yield joined.take();
}

function lengthOfWhole(bytes: Buffer, maxBytes: number): number {
  let end = 0;
  while (end + PREFIX_BYTES <= bytes.length) {
    const size = bytes.readUInt32BE(end + 1);
    if (size > maxBytes) return bytes.length;
    if (end + PREFIX_BYTES + size > bytes.length) break;
    end += PREFIX_BYTES + size;
  }
  return end;
}
