/** The accent colour of an application is readable in both themes. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adaptAccent, BACKGROUNDS, contrastOf } from '../../src/login-page/pages/branding.ts';

const STYLE = readFileSync(new URL('../../src/http/styles/base.css', import.meta.url), 'utf8');
const MIN_CONTRAST = 4.5;
const THEMES = ['light', 'dark'] as const;

/** Returns the colours of a token in both themes, as `#rrggbb`. */
function tokenOf(name: string) {
  const [, light = '', dark = ''] = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(STYLE) ?? [];
  const toLong = (color: string) => (color.length === 4 ? color.replace(/[^#]/g, '$&$&') : color);
  return { light: toLong(light), dark: toLong(dark) };
}

const toColor = (number: number) => `#${number.toString(16).padStart(6, '0')}`;
const anyColor = fc.integer({ min: 0, max: 0xff_ff_ff }).map(toColor);

/** @throws if text in the accent colour, or on it, is hard to read */
function expectReadable(color: string): void {
  const { accent, onAccent } = adaptAccent(color);
  for (const theme of THEMES) {
    expect(accent[theme]).toMatch(/^#[0-9a-f]{6}$/);
    for (const ground of BACKGROUNDS[theme]) {
      expect(contrastOf(accent[theme], ground), `${color} on ${ground}`).toBeGreaterThanOrEqual(MIN_CONTRAST);
    }
    expect(contrastOf(onAccent[theme], accent[theme]), `text on ${color}`).toBeGreaterThanOrEqual(MIN_CONTRAST);
  }
}

it('the grounds are those of the style sheet', () => {
  for (const theme of THEMES) {
    expect(BACKGROUNDS[theme]).toEqual([tokenOf('card')[theme], tokenOf('ground')[theme], tokenOf('sunken')[theme]]);
  }
});

describe('the contrast is at least 4.5', () => {
  it('of any colour', () => {
    fc.assert(fc.property(anyColor, expectReadable), { numRuns: 2_000, seed: 1 });
  });

  it('of the corners, edges and middle of the cube', () => {
    const channels = [0, 1, 0x7f, 0x80, 0xfe, 0xff];
    for (const red of channels) {
      for (const green of channels)
        for (const blue of channels) expectReadable(toColor((red << 16) + (green << 8) + blue));
    }
  });
});

it('a colour that is readable stays as it is', () => {
  fc.assert(
    fc.property(anyColor, (color) => {
      const { accent } = adaptAccent(color);
      for (const theme of THEMES) {
        const isReadable = BACKGROUNDS[theme].every((ground) => contrastOf(color, ground) >= MIN_CONTRAST);
        if (isReadable) expect(accent[theme]).toBe(color);
        else expect(accent[theme]).not.toBe(color);
      }
    }),
    { seed: 1 },
  );
});

it.each([
  ['#000000', '#ffffff', 21],
  ['#777777', '#ffffff', 4.48],
  ['#ffcc00', '#ffffff', 1.51],
])('the contrast of %s and %s is %d', (one, other, contrast) => {
  expect(contrastOf(one, other)).toBeCloseTo(contrast, 2);
  expect(contrastOf(other, one)).toBe(contrastOf(one, other));
});

it('a light yellow becomes darker in the light theme, and no more than needed', () => {
  expect(adaptAccent('#ffcc00')).toEqual({
    accent: { light: '#856b00', dark: '#ffcc00' },
    onAccent: { light: '#ffffff', dark: '#000000' },
  });
});
