/** Splits a body into lines with bounded memory. */
import { JoinedBytes } from '../../encoding/joined-bytes.ts';

const MAX_LINE_BYTES = 16 * 1_024;

/** A line without its end. Undefined text: it is longer than `MAX_LINE_BYTES`, or no UTF-8. */
export interface Line {
  readonly number: number;
  readonly text: string | undefined;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });
const NEWLINE = 0x0a;

/** Yields the lines of each chunk, in which empty ones are left out but counted. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let isTooLong = false;
  const joined = new JoinedBytes();
  const add = (part: Buffer) => {
    // What is too long already need not be kept.
    isTooLong ||= joined.length + part.length > MAX_LINE_BYTES;
    if (!isTooLong) joined.add(part);
  };
  const take = (): Line | undefined => {
    number++;
    const bytes = joined.take();
    const text = isTooLong ? undefined : decode(bytes);
    isTooLong = false;
    return text?.trim() === '' ? undefined : { number, text };
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at));
      from = at + 1;
      const line = take();
      if (line) yield line;
    }
    add(chunk.subarray(from));
  }
  if (joined.length > 0 || isTooLong) {
    const line = take();
    if (line) yield line;
  }
}

function decode(bytes: Buffer): string | undefined {
  try {
    return UTF_8.decode(bytes);
  } catch {
    return undefined;
  }
}
