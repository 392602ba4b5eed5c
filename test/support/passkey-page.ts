/** Passkeys on the login page, without a real browser. */
import { formOf, type LoginPage, textOf } from './login-browser.ts';
import type { Arrived } from './login-fixture.ts';
import type { AskedPasskey, Oddities, SoftwarePasskey } from './passkey.ts';

/** The field of a form that leads to the list of passkeys after the sign-in. The lint takes it for a promise's. */
export const TO_PASSKEYS: Readonly<Record<string, string>> = Object.fromEntries([['then', 'passkeys']]);

/** Returns what the page asks a passkey for at a sign-in. */
export function askedAtSignIn(page: LoginPage, origin: string): AskedPasskey {
  return { origin, challenge: attributeOf(page, 'challenge'), rpId: attributeOf(page, 'rp-id') };
}

/** Returns what the page asks a new passkey for. */
export function askedForNew(page: LoginPage, origin: string): AskedPasskey {
  const { challenge, rp, user } = JSON.parse(attributeOf(page, 'options'));
  return { origin, challenge, rpId: rp.id, userHandle: user.id };
}

/** Signs in with the passkey on the page where a person chooses how to sign in. */
export function sendPasskey(
  { browser, page }: Pick<Arrived, 'browser' | 'page'>,
  passkey: SoftwarePasskey,
  origin: string,
  odd?: Oddities,
  headers?: Record<string, string>,
): Promise<LoginPage> {
  const credential = passkey.answer(askedAtSignIn(page, origin), odd);
  return browser.submit(page, '/login/passkey', { credential }, headers);
}

/** Saves the passkey on a page that offers that. */
export function savePasskey(
  { browser, page }: Pick<Arrived, 'browser' | 'page'>,
  passkey: SoftwarePasskey,
  origin: string,
  odd?: Oddities,
  headers?: Record<string, string>,
): Promise<LoginPage> {
  formOf(page, '/login/passkey/new');
  const credential = passkey.create(askedForNew(page, origin), odd);
  return browser.submit(page, '/login/passkey/new', { credential }, headers);
}

function attributeOf({ body }: LoginPage, name: string): string {
  const found = new RegExp(` data-${name}="([^"]*)"`).exec(body.slice(body.search(/id="(new-)?passkey"/)));
  if (!found) throw new Error(`The page has no data-${name}`);
  return textOf(found[1]);
}
