/**
 * Reads the type and size of a logo from its header, without decoding it. The size limits bound the work of browsers
 * that decode it. Other content of the file does no harm: Usher serves the file as an image, with `nosniff` and a
 * content security policy that lets nothing run.
 */
import { ServiceError } from '../core/errors.ts';

/** A request has at most 64 KiB, and JSON has the logo in base64. */
export const MAX_LOGO_BYTES = 40 * 1024;
const MAX_WIDTH = 1024;
const MAX_HEIGHT = 512;

interface LogoImage {
  readonly mediaType: string;
  /** In pixels, like the height. */
  readonly width: number;
  readonly height: number;
}

type ReadImage = (bytes: Buffer) => LogoImage | undefined;

/** Returns the type and size of an image. @throws ServiceError `Invalid logo` */
export function readLogoImage(image: Uint8Array): LogoImage {
  if (image.length > MAX_LOGO_BYTES) throw invalidLogo('must have at most 40 KiB');
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength);
  const found = readPng(bytes) ?? readJpeg(bytes) ?? readWebp(bytes);
  if (!found) throw invalidLogo('must be a whole, still image as PNG, JPEG or WebP');
  const { width, height } = found;
  if (width < 1 || height < 1 || width > MAX_WIDTH || height > MAX_HEIGHT) {
    throw invalidLogo(`must have 1 x 1 to ${MAX_WIDTH} x ${MAX_HEIGHT} pixels`);
  }
  return found;
}

function invalidLogo(problem: string): ServiceError {
  return new ServiceError('INVALID_LOGO', { violations: [{ field: 'image', message: problem }] });
}

/** https://www.w3.org/TR/png-3/, chapter 5: chunks from IHDR to IEND, and nothing after them. */
const readPng: ReadImage = (bytes) => {
  if (!bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return undefined;
  const names: string[] = [];
  for (let at = 8; at + 12 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    names.push(bytes.toString('latin1', at + 4, at + 8));
    if (names.at(-1) === 'IEND' && at + 12 !== bytes.length) return undefined;
  }
  const isStill = names[0] === 'IHDR' && names.at(-1) === 'IEND' && !names.includes('acTL');
  if (!isStill) return undefined;
  return { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
};
const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** ITU-T T.81, annex B: segments up to the frame header, and the end of the image last. */
const readJpeg: ReadImage = (bytes) => {
  if (bytes.toString('hex', 0, 2) !== 'ffd8' || bytes.subarray(-2).toString('hex') !== 'ffd9') return undefined;
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1] ?? 0;
    // The other three markers of this range begin no frame.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) {
      return { mediaType: 'image/jpeg', height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    }
  }
  return undefined;
};

/** RFC 9649, section 2. */
const readWebp: ReadImage = (bytes) => {
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
  if (!isWebp || bytes.length < 30 || bytes.readUInt32LE(4) + 8 !== bytes.length) return undefined;
  const size = WEBP_SIZES[bytes.toString('latin1', 12, 16)]?.(bytes);
  return size && { mediaType: 'image/webp', ...size };
};

type ReadSize = (bytes: Buffer) => Omit<LogoImage, 'mediaType'> | undefined;

const WEBP_SIZES: Readonly<Record<string, ReadSize>> = {
  // Every key frame has this start code (RFC 6386, section 9.1).
  'VP8 ': (bytes) =>
    bytes.readUIntBE(23, 3) === 0x9d012a
      ? { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
      : undefined,
  VP8L: (bytes) => {
    const bits = bytes.readUInt32LE(21);
    return bytes[20] === 0x2f ? { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 } : undefined;
  },
  VP8X: (bytes) => {
    const isAnimated = ((bytes[20] ?? 0) & 0x02) !== 0;
    return isAnimated ? undefined : { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  },
};
