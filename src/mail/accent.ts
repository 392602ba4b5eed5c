/** Usher's own, as on its pages. */
const DEFAULT = { light: '#0f5e5a', dark: '#86d3c8' };

/** Returns the colour of the bar, by theme. It is decoration, so it needs no contrast. */
export function toAccent(color?: string | null): { readonly light: string; readonly dark: string } {
  return color && /^#[0-9a-f]{6}$/i.test(color) ? { light: color, dark: color } : DEFAULT;
}
