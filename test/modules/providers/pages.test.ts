/** Which providers a login offers, with what its button says, and which accounts the account page shows and offers. */
import { expect, test } from 'vitest';
import type { AccountFormView } from '../../../src/login-page/offer/page-offer.ts';
import type { FormView } from '../../../src/login-page/pages/view.ts';
import type { Early } from '../../../src/modules/module.ts';
import { providersModule } from '../../../src/modules/providers/module.ts';
import { markOf } from '../../../src/modules/providers/pages/provider-buttons.ts';
import { renderIdentities } from '../../../src/modules/providers/pages/render-identities.ts';
import type { LoginProvider } from '../../../src/modules/providers/parse-login-providers.ts';
import { ENGLISH } from '../../../src/texts/texts.ts';
import { textOf } from '../../support/login-browser.ts';

const acme: LoginProvider = {
  ...{
    id: 'acme',
    name: 'Acme',
    type: 'openid',
    issuer: 'https://acme.test',
    clientId: 'usher',
    clientSecret: 'secret',
  },
  ...{ trustEmail: false, emailDomains: [] },
};
const corp: LoginProvider = { ...acme, id: 'corp', name: 'Corp', assurance: { amr: { mfa: 2 } } };
const view = { language: ENGLISH, path: '/login', loginIntentId: '', clientId: '', formToken: 'token' };

function openWay() {
  const config = { loginProviders: [acme, corp], loginProviderIds: undefined, requestTimeoutMs: 5_000 };
  const early = { secrets: { encryptionKeys: [Buffer.alloc(32)] } } as unknown as Early;
  return providersModule.offer?.(config as never, early).pages?.signInWay;
}

type Ask = Readonly<Record<string, string>>;

function offered(loginMethods: string[], requiredAssurance: number, fields: Ask = {}, methods = ['email']) {
  const shown = openWay()?.view({ loginMethods, requiredAssurance }, { fields } as never);
  return shown?.renderForms({ ...view, methods } as unknown as FormView).text;
}

test.each<[methods: string[], level: number, texts: string[] | undefined]>([
  [[], 1, ['Continue with Acme', 'Continue with Corp']],
  [['corp'], 1, ['Continue with Corp']],
  [[], 2, ['Continue with Corp']],
  [[], 3, undefined],
  [['email'], 1, undefined],
])('a login with the methods %j at the level %i offers %j', (methods, level, texts) => {
  const forms = offered(methods, level)?.split('</form>').slice(0, -1);
  expect(
    forms?.map((form) =>
      textOf(form)
        .replace(/[\u2068\u2069]/g, '')
        .trim(),
    ),
  ).toEqual(texts);
});

test('the provider that has checked one factor is asked again, and no other', () => {
  const text = offered([], 1, { problem: 'PROVIDER_ONE_FACTOR', provider: 'corp' }) ?? '';
  expect(text.match(/name="again" value="1"/g)).toHaveLength(1);
  expect(textOf(text)).toMatch(/Continue with .*Acme.*Try again with .*Corp/s);
  for (const fields of [{ problem: 'PROVIDER_REFUSED', provider: 'corp' }, {}])
    expect(offered([], 1, fields)).not.toContain('again');
});

test('buttons are less than the form for the address, if there is one', () => {
  expect(offered([], 1)?.match(/<button class="second">/g)).toHaveLength(2);
  expect(offered([], 1, {}, [])?.match(/<button>/g)).toHaveLength(2);
  expect(textOf(offered([], 1))).not.toMatch(/true|false/);
});

test.each([
  ['https://accounts.google.com', 'google'],
  ['https://login.microsoftonline.com/common/v2.0', 'microsoft'],
  ['https://github.com/login/oauth', 'github'],
  ['https://acme.test', 'other'],
])('%s has the mark %s', (issuer, mark) => {
  expect(markOf(issuer)).toBe(mark);
});

test.each([true, false])(
  'the account page shows what is linked, and removes it where codes are sent: %s',
  (hasEmail) => {
    const identity = { issuer: 'https://acme.test', subject: 'ada', createdAt: new Date(0), countsFrom: null };
    const identities = [
      { ...identity, provider: 'acme' },
      { ...identity, provider: 'gone' },
    ];
    const page = {
      language: ENGLISH,
      path: '/account',
      token: 'token',
      formToken: 'token',
    } as unknown as AccountFormView;
    const { ways, buttons } = renderIdentities(page, { identities, providers: [acme, corp], hasEmail } as never);
    const text = textOf(ways?.text).replace(/[\u2068\u2069]/g, '');
    expect(text).toContain('Acme');
    expect(text).toContain('gone');
    expect(text).not.toMatch(/true|false/);
    expect(ways?.text.match(/action="\/account\/providers\/unlink"/g)?.length ?? 0).toBe(hasEmail ? 2 : 0);
    expect([...(buttons ? buttons.text : '').matchAll(/name="provider" value="(\w+)"/g)].map(([, id]) => id)).toEqual([
      'corp',
    ]);
  },
);
