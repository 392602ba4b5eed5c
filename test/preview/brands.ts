/** Two applications with a branding, for the preview and for the tests of pages. */
import type { PageApplication } from '../../src/login-page/pages/page-application.ts';

/** Has all that there is. */
export const SHOP: PageApplication = {
  name: 'The Corner Shop',
  accentColor: '#5b3fd6',
  termsUri: 'https://shop.example.com/terms',
  privacyUri: 'https://shop.example.com/privacy',
  supportUri: 'https://shop.example.com/help',
  initiateLoginUri: 'https://shop.example.com/login',
  logo: { path: drawShop('#5b3fd6', '#221a40'), width: 102, height: 40 },
  darkLogo: { path: drawShop('#7a62e6', '#fff'), width: 102, height: 40 },
  site: { origin: 'https://shop.example.com', host: 'shop.example.com' },
};

/** Has a colour that is too light for text, and a wide logo for light pages alone. */
export const BAKERY: PageApplication = {
  name: 'Bakery',
  accentColor: '#ffcc00',
  termsUri: null,
  privacyUri: 'https://bakery.example.com/privacy',
  supportUri: 'mailto:hello@bakery.example.com',
  initiateLoginUri: null,
  logo: { path: drawBakery(), width: 240, height: 40 },
  darkLogo: undefined,
  site: { origin: 'https://bakery.example.com', host: 'bakery.example.com' },
};

function drawShop(bag: string, name: string): string {
  return toUrl(
    102,
    `<path fill="${bag}" d="M0 12h28l-3 26H3z"/><path fill="none" stroke="${bag}" stroke-width="3" d="M7 16V9a7 7 0 0 1 14 0v7"/>` +
      `<text x="38" y="33" font-family="Georgia,serif" font-size="30" font-weight="700" fill="${name}">shop</text>`,
  );
}

function drawBakery(): string {
  const name = `<text x="48" y="31" font-family="Georgia,serif" font-size="28" fill="#4a2c00">Bread &amp; Butter</text>`;
  return toUrl(240, `<ellipse cx="20" cy="24" rx="18" ry="13" fill="#c77f1a"/>${name}`);
}

/** Drawings stand for uploaded images: the paths of the preview are data. */
function toUrl(width: number, content: string): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="40" viewBox="0 0 ${width} 40">${content}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
