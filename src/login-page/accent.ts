/**
 * The accent colour of an application, so that it is readable everywhere. As text or outline it needs 4.5:1 (WCAG 2.2,
 * 1.4.3) against every ground, so it is mixed with black or white until it has that. Then black or white on it has more.
 */

/** Card, ground and sunken ground of the style sheet: what text in the accent colour is on. */
export const GROUNDS = {
  light: ['#ffffff', '#f8f6f2', '#f4f1eb'],
  dark: ['#1f1d1b', '#161513', '#191816'],
} as const;

const MIN_CONTRAST = 4.5;
const BLACK = '#000000';
const WHITE = '#ffffff';

/** The light and the dark theme's. */
interface ThemeColors {
  readonly light: string;
  readonly dark: string;
}

export interface Accent {
  readonly accent: ThemeColors;
  /** Of text on it. */
  readonly onAccent: ThemeColors;
}

/** Takes and returns colours as `#rrggbb`. One that is readable stays as it is. */
export function adaptAccent(color: string): Accent {
  const light = mixUntilReadable(color, BLACK, GROUNDS.light);
  const dark = mixUntilReadable(color, WHITE, GROUNDS.dark);
  return { accent: { light, dark }, onAccent: { light: textOn(light), dark: textOn(dark) } };
}

/** Returns the ratio of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Returns the nearest mixture that has enough contrast, in steps of a 256th. The end of the way has enough. */
function mixUntilReadable(color: string, end: string, grounds: readonly string[]): string {
  const isReadable = (mixed: string) => grounds.every((ground) => contrastOf(mixed, ground) >= MIN_CONTRAST);
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

/** @param share how much of the end is in it, from 0 to 1 */
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

/** By channel, of sRGB. */
const LINEAR = Array.from({ length: 256 }, (_, channel) => {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
});

function channelsOf(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}
