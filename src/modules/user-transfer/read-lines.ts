/** Splits a body into lines with bounded memory. */

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
  let parts: Buffer[] = [];
  let length = 0;
  const take = (end: Buffer): Line | undefined => {
    number++;
    const size = length + end.length;
    const bytes = size > MAX_LINE_BYTES ? undefined : Buffer.concat([...parts, end]);
    parts = [];
    length = 0;
    const text = bytes && decode(bytes);
    return text?.trim() === '' ? undefined : { number, text };
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const line = take(chunk.subarray(from, at));
      from = at + 1;
      if (line) yield line;
    }
    const rest = chunk.subarray(from);
    length += rest.length;
    // What is too long already need not be kept. Small chunks are joined, so that each costs its bytes only.
    if (length > MAX_LINE_BYTES) parts = [];
    else if (rest.length > 0) parts = [Buffer.concat([...parts, rest])];
  }
  if (length > 0) {
    const line = take(Buffer.alloc(0));
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
