/** Images with the header that a test wants. Those of plain PNGs can be shown. */
import { crc32, deflateSync } from 'node:zlib';

interface PngOptions {
  /** Fills the image up to this length, with a chunk that viewers ignore. */
  readonly bytes?: number;
  /** The name of another chunk. */
  readonly chunk?: string;
  /** Red, green and blue. */
  readonly color?: readonly [number, number, number];
}

/** Returns a PNG in one colour. One that is too large for a logo has no pixels. */
export function png(
  width: number,
  height: number,
  { bytes = 0, chunk, color = [15, 94, 90] }: PngOptions = {},
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const isShown = width * height < 1_000_000;
  const row = [0, ...Array.from({ length: isShown ? width : 0 }, () => color).flat()];
  const pixels = deflateSync(Buffer.from(Array.from({ length: isShown ? height : 0 }, () => row).flat()));
  const chunks = [
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    ...(chunk ? [pngChunk(chunk, Buffer.alloc(8))] : []),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ];
  const length = Buffer.concat(chunks).length;
  const filler = bytes > length ? [pngChunk('teSt', Buffer.alloc(bytes - length - 12))] : [];
  return Buffer.concat([...chunks.slice(0, -1), ...filler, ...chunks.slice(-1)]);
}

function pngChunk(name: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(12 + data.length);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(name, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length);
  return chunk;
}

/** Returns a JPEG with a header and no pixels. */
export function jpeg(width: number, height: number, { frame = 0xc0, comment = '' } = {}): Buffer {
  const size = [height >> 8, height & 0xff, width >> 8, width & 0xff];
  const text = Buffer.from(comment);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8, 0xff, 0xfe, 0, text.length + 2]),
    text,
    // A table, and then the frame.
    Buffer.from([0xff, 0xc4, 0, 3, 0, 0xff, frame, 0, 11, 8, ...size, 1, 1, 0x11, 0, 0xff, 0xd9]),
  ]);
}

/** Returns a WebP with a header and no pixels. */
export function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number, { flags = 0 } = {}): Buffer {
  const data = Buffer.alloc(10);
  if (kind === 'VP8 ') {
    data.writeUIntBE(0x9d012a, 3, 3);
    data.writeUInt16LE(width, 6);
    data.writeUInt16LE(height, 8);
  } else if (kind === 'VP8L') {
    data[0] = 0x2f;
    data.writeUInt32LE((width - 1 + (height - 1) * 2 ** 14) >>> 0, 1);
  } else {
    data[0] = flags;
    data.writeUIntLE(width - 1, 4, 3);
    data.writeUIntLE(height - 1, 7, 3);
  }
  const head = Buffer.from(`RIFF----WEBP${kind}----`, 'latin1');
  head.writeUInt32LE(data.length, 16);
  head.writeUInt32LE(12 + data.length, 4);
  return Buffer.concat([head, data]);
}
