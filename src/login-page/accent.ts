/**
 * Makes the accent colour of an application readable. Text and outlines in this colour need a contrast of 4.5:1 (WCAG 2.2,
 * 1.4.3) with every background, so black or white is mixed in until the colour has it. Black or white text on the result
 * has a higher contrast.
 */

/** The backgrounds of text in the accent colour: `--card`, `--ground` and `--sunken` of the style sheet. */
export const BACKGROUNDS = {
  light: ['#ffffff', '#f8f6f2', '#f4f1eb'],
  dark: ['#1f1d1b', '#161513', '#191816'],
} as const;

const MIN_CONTRAST = 4.5;
const BLACK = '#000000';
const WHITE = '#ffffff';

/** A colour for the light theme and one for the dark theme. */
interface ThemeColors {
  readonly light: string;
  readonly dark: string;
}

export interface Accent {
  readonly accent: ThemeColors;
  /** The colours of text on the accent colour. */
  readonly onAccent: ThemeColors;
}

/** Returns the colours of an accent colour. A readable colour is unchanged. All colours are `#rrggbb`. */
export function adaptAccent(color: string): Accent {
  const light = mixUntilReadable(color, BLACK, BACKGROUNDS.light);
  const dark = mixUntilReadable(color, WHITE, BACKGROUNDS.dark);
  return { accent: { light, dark }, onAccent: { light: textOn(light), dark: textOn(dark) } };
}

/** Returns the contrast ratio of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Returns the mixture with the least share of `end`, in steps of 1/256, that has enough contrast. `end` has enough. */
function mixUntilReadable(color: string, end: string, backgrounds: readonly string[]): string {
  const isReadable = (mixed: string) => backgrounds.every((behind) => contrastOf(mixed, behind) >= MIN_CONTRAST);
  if (isReadable(color)) return color;
  let [tooLittle, enough] = [0, 256];
  while (enough - tooLittle > 1) {
    const middle = (tooLittle + enough) >> 1;
    if (isReadable(mix(color, end, middle / 256))) enough = middle;
    else tooLittle = middle;
  }
  return mix(color, end, enough / 256);
}

function textOn(color: string): string {
  return contrastOf(WHITE, color) >= contrastOf(BLACK, color) ? WHITE : BLACK;
}

/** @param share the share of `end` in the mixture, from 0 to 1 */
function mix(color: string, end: string, share: number): string {
  const to = channelsOf(end);
  const mixed = channelsOf(color).map((from, index) => Math.round(from + ((to[index] ?? 0) - from) * share));
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** WCAG 2.2, "relative luminance". */
function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color).map((channel) => LINEAR[channel] ?? 0);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The linear value of each of the 256 values of an sRGB channel. */
const LINEAR = Array.from({ length: 256 }, (_, channel) => {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
});

function channelsOf(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}
