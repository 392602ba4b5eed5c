/** The logo, colour and links of an application. */
import { Html, html } from '../../http/html.ts';
import type { TextKey } from '../../texts/texts.ts';
import type { PageApplication } from './page-application.ts';
import type { PageView } from './view.ts';

/** Returns the CSS of the accent colour, which is `#rrggbb`. */
export function renderAccent({ accentColor }: Pick<PageApplication, 'accentColor'>): Html | undefined {
  if (!accentColor) return undefined;
  const { accent, onAccent } = adaptAccent(accentColor);
  const rule = `--accent:light-dark(${accent.light},${accent.dark});--on-accent:light-dark(${onAccent.light},${onAccent.dark})`;
  return new Html(`:root{${rule}}`);
}

/** Returns undefined without a logo for light pages, because the logo for dark pages may be invisible there. */
export function renderLogo({ logo, darkLogo }: PageApplication): Html | undefined {
  if (!logo) return undefined;
  const { path, width, height } = logo;
  const dark =
    darkLogo &&
    html`<source media="(prefers-color-scheme: dark)" srcset="${darkLogo.path}" width="${String(darkLogo.width)}" height="${String(darkLogo.height)}">`;
  return html`<picture class="logo${!darkLogo && ' plate'}">${dark}<img src="${path}" width="${String(width)}" height="${String(height)}" alt=""></picture>`;
}

/** Renders the sentence that people who sign up accept the terms. */
export function renderTerms({
  language,
  application,
  allowSignUp,
}: PageView & { allowSignUp: boolean }): Html | undefined {
  if (!allowSignUp || !application?.termsUri) return undefined;
  const text = language.html('choice.terms.link', { application: application.name });
  const terms = html`<a href="${application.termsUri}">${text}</a>`;
  return html`<p class="small soft">${language.html('choice.terms', { terms })}</p>\n`;
}

export function renderLinks({ language, application }: PageView): Html {
  const { termsUri, privacyUri, supportUri } = application ?? {};
  const link = (uri: string | null | undefined, key: TextKey) =>
    uri ? html`<a href="${uri}">${language.text(key)}</a>\n` : undefined;
  return html`${link(termsUri, 'footer.terms')}${link(privacyUri, 'footer.privacy')}${link(supportUri, 'footer.help')}`;
}

/** Renders links from a login that cannot continue. Only a click leads away: with a broken application, a redirect would loop. */
export function renderWaysOn(
  view: PageView,
  { canRetry, canGoBack }: { readonly canRetry: boolean; readonly canGoBack: boolean },
): Html {
  const { language, application, place } = view;
  const { name = '', initiateLoginUri, site, supportUri } = application ?? {};
  const links: Html[] = [];
  const add = (uri: string, text: Html) =>
    links.push(html`<a class="button${links.length > 0 && ' second'}" href="${uri}">${text}</a>\n`);
  const retry = canRetry ? toHref(place) : undefined;
  if (retry !== undefined) add(retry, html`${language.text('error.tryAgain')}`);
  if (initiateLoginUri) add(initiateLoginUri, html`${language.text('error.signInAgain')}`);
  if (site) add(site.origin, language.html('error.back', { application: name }));
  // Without an application, the browser knows where the person came from. The script of the page shows the button.
  if (links.length === 0 && canGoBack)
    links.push(html`<button type="button" data-back hidden>${language.text('error.goBack')}</button>\n`);
  return html`${links.length > 0 && html`<div class="ways">\n${links}</div>\n`}${
    supportUri
      ? html`<p class="also">${language.text('error.help')} <a href="${supportUri}">${language.text('footer.help')}</a></p>`
      : undefined
  }`;
}

function toHref({ path, query, retry }: PageView['place']): string | undefined {
  return retry ?? (query && `${path}?${new URLSearchParams(Object.fromEntries(query))}`);
}

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

interface Accent {
  readonly accent: ThemeColors;
  /** The colours of text on the accent colour. */
  readonly onAccent: ThemeColors;
}

/**
 * Makes the accent colour of an application readable. Text and outlines in this colour need a contrast of 4.5:1 (WCAG 2.2,
 * 1.4.3) with every background, so black or white is mixed in until the colour has it. Black or white text on the result
 * has a higher contrast. A readable colour is unchanged. All colours are `#rrggbb`.
 */
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
