/** The accent colour of Usher's pages. */
const DEFAULT = { light: '#0f5e5a', dark: '#86d3c8' };

/** Returns the colours of the bar for both themes. The bar is decoration, so its contrast does not matter. */
export function toAccent(color?: string | null): { readonly light: string; readonly dark: string } {
  return color && /^#[0-9a-f]{6}$/i.test(color) ? { light: color, dark: lighten(color) } : DEFAULT;
}

/** Mixes the colour with white in equal parts. */
function lighten(color: string): string {
  const channels = [1, 3, 5].map((at) => (Number.parseInt(color.slice(at, at + 2), 16) + 255) >> 1);
  return `#${channels.map((channel) => channel.toString(16)).join('')}`;
}
