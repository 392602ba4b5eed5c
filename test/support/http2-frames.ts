/** Encodes and decodes single HTTP/2 frames (RFC 9113). */

export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
export const FLAG = { endStream: 1, acknowledged: 1, endHeaders: 4 } as const;

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const INITIAL_WINDOW_SIZE = 4;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function encodeFrame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Returns the preface of a connection and its first settings. */
export function encodePreface({ windowSize = 65_535 } = {}): Buffer {
  const setting = Buffer.alloc(6);
  setting.writeUInt16BE(INITIAL_WINDOW_SIZE);
  setting.writeUInt32BE(windowSize, 2);
  return Buffer.concat([Buffer.from(PREFACE), encodeFrame(FRAME.settings, 0, 0, setting)]);
}

/** Returns the headers of a request without compression; no name or value may exceed 126 bytes. */
export function encodeHeaders(
  stream: number,
  fields: Readonly<Record<string, string>>,
  { endStream = true } = {},
): Buffer {
  const text = (value: string) => [Buffer.from([value.length]), Buffer.from(value)];
  const all = { ':scheme': 'http', ':authority': 'localhost', ...fields };
  const block = Object.entries(all).flatMap(([name, value]) => [Buffer.from([0]), ...text(name), ...text(value)]);
  return encodeFrame(FRAME.headers, FLAG.endHeaders | (endStream ? FLAG.endStream : 0), stream, Buffer.concat(block));
}

/** Returns a frame of one number: the code of a reset, or the increment of a window. */
export function encodeNumber(type: number, stream: number, value: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(value);
  return encodeFrame(type, 0, stream, payload);
}

/** Yields the complete frames in the bytes. */
export function* decodeFrames(bytes: Buffer): Iterable<Frame> {
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) return;
    const [type = -1, flags = 0] = bytes.subarray(at + 3);
    yield { type, flags, stream: bytes.readUInt32BE(at + 5), payload: bytes.subarray(at + 9, end) };
    at = end;
  }
}
