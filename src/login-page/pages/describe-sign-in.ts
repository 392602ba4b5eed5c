import { isOwnMethod } from '../../config/login-methods.ts';
import { siteOf } from '../../domain/login/network.ts';
import type { SignInMethod } from '../../domain/tokens/verify-token.ts';
import { type Html, html } from '../../http/html.ts';
import type { Language } from '../../texts/texts.ts';

/** In the order of the search: the user agent of Edge also names Chrome and Safari, and that of Chrome names Safari. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'Mac'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const LONGEST_UNKNOWN = 40;

/** Returns browser and system, such as `Safari, Mac`, or an empty string for an unknown user agent. */
export function nameBrowser(userAgent: string): string {
  const names = [BROWSERS, SYSTEMS].map((list) => list.find(([pattern]) => pattern.test(userAgent))?.[1]);
  return names.filter(Boolean).join(', ');
}

/** The same, or the beginning of an unknown user agent. */
export function describeBrowser(userAgent: string): string {
  return nameBrowser(userAgent) || userAgent.slice(0, LONGEST_UNKNOWN);
}

/** Renders how somebody signed in. A provider that was removed is named by its ID. */
function renderMethod(
  language: Language,
  method: SignInMethod,
  providers: { nameOf(providerId: string): string },
): Html {
  if (isOwnMethod(method)) return html`${language.text(`account.method.${method}`)}`;
  return language.html('account.method.provider', { provider: providers.nameOf(method) || method });
}

/** Renders method and network of a sign-in, and what else is given, on one line. */
export function renderSignIn(
  language: Language,
  { method, ipAddress }: { readonly method: SignInMethod; readonly ipAddress: string | null },
  providers: { nameOf(providerId: string): string },
  more: readonly (Html | false)[],
): Html {
  const facts = [
    renderMethod(language, method, providers),
    ...(ipAddress ? [html`<bdi dir="ltr">${siteOf(ipAddress)}</bdi>`] : []),
    ...more.flatMap((fact) => fact || []),
  ];
  return html`${facts.flatMap((fact, index) => (index === 0 ? [fact] : [html` · `, fact]))}`;
}
