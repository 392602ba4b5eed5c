/** Which images are logos, by their headers. */
import { describe, expect, it } from 'vitest';
import { readLogoImage } from '../../../src/domain/applications/logo-image.ts';
import { ServiceError } from '../../../src/domain/core/errors.ts';
import { jpeg, png, webp } from '../../support/images.ts';

const KIB = 1024;

describe('a logo may be', () => {
  it.each<[string, Buffer, object]>([
    ['a PNG', png(120, 40), { mediaType: 'image/png', width: 120, height: 40 }],
    ['a PNG of the largest size', png(1024, 512), { mediaType: 'image/png', width: 1024, height: 512 }],
    ['a PNG of one pixel', png(1, 1), { mediaType: 'image/png', width: 1, height: 1 }],
    ['a JPEG', jpeg(120, 40), { mediaType: 'image/jpeg', width: 120, height: 40 }],
    ['a progressive JPEG', jpeg(120, 40, { frame: 0xc2 }), { mediaType: 'image/jpeg', width: 120, height: 40 }],
    ['a JPEG with the last kind of frame', jpeg(120, 40, { frame: 0xcf }), { width: 120, height: 40 }],
    ['a lossy WebP', webp('VP8 ', 120, 40), { mediaType: 'image/webp', width: 120, height: 40 }],
    ['a lossless WebP', webp('VP8L', 120, 40), { mediaType: 'image/webp', width: 120, height: 40 }],
    ['an extended WebP', webp('VP8X', 1024, 512), { mediaType: 'image/webp', width: 1024, height: 512 }],
    ['exactly 40 KiB', png(9, 9, { bytes: 40 * KIB }), { mediaType: 'image/png', width: 9, height: 9 }],
    ['a JPEG with HTML in a comment, which nothing runs', jpeg(9, 9, { comment: '<script>alert(1)</script>' }), {}],
  ])('%s', (_, image, expected) => {
    expect(readLogoImage(image)).toMatchObject(expected);
  });
});

describe('a logo may not be', () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  const shortWebp = Buffer.from(webp('VP8L', 9, 9).subarray(0, 26));
  shortWebp.writeUInt32LE(18, 4);
  const page = '<!doctype html><script>alert(1)</script>';
  it.each<[string, Uint8Array, string]>([
    ['40 KiB and a byte', png(9, 9, { bytes: 40 * KIB + 1 }), '40 KiB'],
    ['a GIF', Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1'), 'PNG, JPEG or WebP'],
    ['a GIF that is a script, too', Buffer.from('GIF89a/*\0\0*/=1;alert(1)//;', 'latin1'), 'PNG, JPEG or WebP'],
    ['an SVG', svg, 'PNG, JPEG or WebP'],
    ['HTML', Buffer.from(page), 'PNG, JPEG or WebP'],
    ['HTML before a PNG', Buffer.concat([Buffer.from(page), png(9, 9)]), 'PNG, JPEG or WebP'],
    ['HTML after a PNG', Buffer.concat([png(9, 9), Buffer.from(page)]), 'PNG, JPEG or WebP'],
    ['a few bytes after a PNG', Buffer.concat([png(9, 9), Buffer.from('<b>')]), 'PNG, JPEG or WebP'],
    ['chunks after a PNG', Buffer.concat([png(9, 9), png(9, 9).subarray(8)]), 'PNG, JPEG or WebP'],
    ['HTML after a JPEG', Buffer.concat([jpeg(9, 9), Buffer.from(page)]), 'PNG, JPEG or WebP'],
    ['HTML after a WebP', Buffer.concat([webp('VP8L', 9, 9), Buffer.from(page)]), 'PNG, JPEG or WebP'],
    ['the magic bytes of a PNG alone', png(9, 9).subarray(0, 8), 'PNG, JPEG or WebP'],
    ['a PNG that is cut off', png(9, 9).subarray(0, -1), 'PNG, JPEG or WebP'],
    [
      'a PNG without its header',
      Buffer.concat([png(9, 9).subarray(0, 8), png(9, 9).subarray(33)]),
      'PNG, JPEG or WebP',
    ],
    ['an animated PNG', png(9, 9, { chunk: 'acTL' }), 'PNG, JPEG or WebP'],
    ['an animated WebP', webp('VP8X', 9, 9, { flags: 0x02 }), 'PNG, JPEG or WebP'],
    ['a JPEG without a frame', Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 2, 0xff, 0xd9]), 'PNG, JPEG or WebP'],
    ['a WebP of another length', Buffer.concat([webp('VP8 ', 9, 9), Buffer.alloc(2)]), 'PNG, JPEG or WebP'],
    ['1025 pixels wide', png(1025, 9), '1024 x 512'],
    ['513 pixels high', png(9, 513), '1024 x 512'],
    ['without a pixel', png(0, 9), '1024 x 512'],
    ['without a row', png(9, 0), '1024 x 512'],
    ['a JPEG that ends with its size', Buffer.from('ffd8ffc0001108' + '0009ffd9', 'hex'), '1024 x 512'],
    ['a PNG with another first byte', withByte(png(9, 9), 0), 'PNG, JPEG or WebP'],
    ['a JPEG with another first byte', withByte(jpeg(9, 9), 0), 'PNG, JPEG or WebP'],
    ['a JPEG with another byte between segments', withByte(jpeg(9, 9), 2), 'PNG, JPEG or WebP'],
    ['a JPEG whose frame is none', jpeg(9, 9, { frame: 0xbf }), 'PNG, JPEG or WebP'],
    ['a WebP with another first byte', withByte(webp('VP8L', 9, 9), 0), 'PNG, JPEG or WebP'],
    ['another RIFF file', withByte(webp('VP8L', 9, 9), 8), 'PNG, JPEG or WebP'],
    ['a WebP with less than its size', shortWebp, 'PNG, JPEG or WebP'],
    ['a lossy WebP with another start code', withByte(webp('VP8 ', 9, 9), 23), 'PNG, JPEG or WebP'],
    ['a lossless WebP with another signature', withByte(webp('VP8L', 9, 9), 20), 'PNG, JPEG or WebP'],
    ['a PNG of the size that needs 64 GiB', png(0xffff_ffff, 0xffff_ffff), '1024 x 512'],
    ['a JPEG of a huge size', jpeg(65_535, 65_535), '1024 x 512'],
    ['a lossless WebP of a huge size', webp('VP8L', 16_384, 16_384), '1024 x 512'],
    ['an extended WebP of a huge size', webp('VP8X', 16_777_216, 16_777_216), '1024 x 512'],
  ])('%s', (_, image, problem) => {
    expect(problemOf(image)).toContain(problem);
  });
});

it('any bytes after the magic ones end in an answer', () => {
  for (const start of [png(9, 9), jpeg(9, 9), webp('VP8 ', 9, 9), webp('VP8L', 9, 9), webp('VP8X', 9, 9)]) {
    for (let length = 1; length < start.length; length++) {
      expect(problemOf(start.subarray(0, length))).toBeDefined();
      for (const byte of [0, 0x7f, 0xff]) {
        const damaged = Buffer.from(start);
        damaged[length] = byte;
        problemOf(damaged);
      }
    }
  }
});

/** Returns the image with another byte at the place. */
function withByte(image: Buffer, at: number): Buffer {
  image[at] = (image[at] ?? 0) ^ 1;
  return image;
}

/** Returns what is wrong with the image, or undefined. @throws for any other error */
function problemOf(image: Uint8Array): string | undefined {
  try {
    readLogoImage(image);
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== 'INVALID_LOGO') throw error;
    expect(error.violations).toMatchObject([{ field: 'image' }]);
    return error.violations[0]?.message;
  }
}
