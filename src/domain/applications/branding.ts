/** How an application appears on the login page, and where the page leads. */
import type { RowOf } from '../../database/pool/database.ts';
import { applications } from '../../database/schema/schema.ts';
import { type Rule, rule } from '../core/rule.ts';
import { listOf, optional, orDefault, textThat } from '../core/validation.ts';
import { isRegistrable } from './redirect-uri.ts';

const { accentColor, termsUri, privacyUri, supportUri, initiateLoginUri, loginMethods } = applications;
const { logoDigest, darkLogoDigest, logoSize, darkLogoSize } = applications;

/** The columns that operators set. Logos have an RPC of their own. */
export const chosenBrandingColumns = { accentColor, termsUri, privacyUri, supportUri, initiateLoginUri, loginMethods };
export const brandingColumns = { ...chosenBrandingColumns, logoDigest, darkLogoDigest, logoSize, darkLogoSize };

export type Branding = RowOf<typeof brandingColumns>;

/** `wallet`, `email`, `passkey` or a provider's ID. Only the form is checked here: the settings list the providers. */
const methodName = textThat((text) => /^[a-z][a-z0-9-]{0,30}$/.test(text), 'must be a login method', {
  // Equivalent: limit: the pattern allows no more
  max: 31,
  format: 'login-method',
});
const MAX_METHODS = 23;

/** Whether people sign in to the application with a passkey and nothing else. */
export function isForPasskeysOnly({ loginMethods }: Pick<Branding, 'loginMethods'>): boolean {
  return loginMethods.join() === 'passkey';
}

/** Returns whether users of the application may sign in with the method, if Usher has it enabled. */
export function allowsMethod({ loginMethods }: Pick<Branding, 'loginMethods'>, method: string): boolean {
  return loginMethods.length === 0 || loginMethods.includes(method);
}

/** Nothing but six hex digits: other text could inject CSS into the page. */
const colorText = textThat((text) => /^#[0-9a-f]{6}$/i.test(text), 'must be a colour such as #0f5e5a', {
  // Equivalent: limit: the pattern allows no more
  max: 7,
  format: 'color',
});
const color: Rule<string> = rule(colorText.schema, (value) => colorText(value).toLowerCase());

const httpsUri = textThat(isHttps, 'must be an absolute https URI without user information', {
  max: 2048,
  format: 'https-uri',
});
const supportLink = textThat(
  (text) => isHttps(text) || MAILTO.test(text),
  'must be an absolute https URI, or mailto: with one address',
  { max: 2048, format: 'support-uri' },
);
/** Accepts the URI of an application's page or endpoint. */
export const webRedirectUri = textThat(
  (text) => isRegistrable(text) && /^https?:/.test(text),
  'must be absolute https, or http on a loopback host, without fragment, user information or wildcard',
  { max: 2048, format: 'web-redirect-uri' },
);
/** One address and no header fields: e-mails of Usher have the address in `Reply-To`. */
const MAILTO = /^mailto:[\w.!#$&'*+/=^`{|}~-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i;

const anyMethods = listOf(methodName, { min: 0, max: MAX_METHODS });
const distinctMethods: Rule<string[]> = rule(anyMethods.schema, (value) => [...new Set(anyMethods(value))]);

/** The rules of fields that may be missing. */
export const brandingRules = {
  accentColor: optional(color),
  termsUri: optional(httpsUri),
  privacyUri: optional(httpsUri),
  supportUri: optional(supportLink),
  initiateLoginUri: optional(webRedirectUri),
  loginMethods: orDefault(distinctMethods, []),
};

function isHttps(text: string): boolean {
  if (!/^https:\/\/[\x21-\x7e]+$/.test(text) || /["<>\\^`{|}]/.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}
