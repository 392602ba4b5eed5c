/** The logo, colour and links of an application. */
import { Html, html } from '../../http/html.ts';
import type { TextKey } from '../../texts/texts.ts';
import { adaptAccent } from '../accent.ts';
import type { PageApplication } from '../page-application.ts';
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
