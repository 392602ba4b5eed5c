/** How the login page shows an application, and which ways lead back to it. */
import { randomUUID } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import type { UpdateApplicationRequestSchema } from '../../gen/usher/v1/admin_pb.ts';
import { adaptAccent } from '../../src/login-page/pages/branding.ts';
import { MINUTE } from '../support/clock.ts';
import { request } from '../support/http.ts';
import { png } from '../support/images.ts';
import { beginLogin, formOf, LoginBrowser, type LoginPage, textOf } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { adminClient, createTenant, createTestUser, type Tenant } from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

const NAME = 'Shop & <Söhne>';
const REDIRECT_URIS = ['https://shop.test:8443/callback', 'com.example.shop:/callback'];
const LINKS = {
  termsUri: 'https://shop.test/terms?a=1&b=2',
  privacyUri: 'https://shop.test/privacy',
  supportUri: 'mailto:help@shop.test',
};
const LOGIN_URI = 'https://shop.test/start';
const ORIGIN = 'https://shop.test:8443';

const fixture = await LoginFixture.open();
const { clock, service } = fixture;
const admin = adminClient(service);
afterAll(() => fixture.close());

async function createShop(branding: MessageInitShape<typeof UpdateApplicationRequestSchema> = {}): Promise<Tenant> {
  const shop = await createTenant(service, { name: NAME, redirectUris: REDIRECT_URIS });
  await admin.updateApplication({ applicationId: shop.id, ...branding });
  return shop;
}

const begin = (of: Tenant, redirectUri = 'https://shop.test:8443/callback') => beginLogin(service, of, { redirectUri });
const visit = (path: string) => new LoginBrowser(service).open(path);
const arrive = async (of: Tenant) => fixture.arrive({ of, login: await begin(of) });

/** Returns the links of the page: where they lead, by their text. */
function linksOf({ body }: LoginPage): Record<string, string> {
  const links = [...body.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gs)];
  return Object.fromEntries(links.map(([, uri, text]) => [textOf(text), textOf(uri)]));
}

describe('the page of an application', () => {
  it('has its colour, its links, and where the person returns to', async () => {
    const shop = await createShop({ ...LINKS, accentColor: '#ffcc00' });
    const { page } = await arrive(shop);
    const { accent, onAccent } = adaptAccent('#ffcc00');
    expect(page.body).toContain(
      `:root{--accent:light-dark(${accent.light},${accent.dark});--on-accent:light-dark(${onAccent.light},${onAccent.dark})}`,
    );
    expect(linksOf(page)).toEqual({ Terms: LINKS.termsUri, Privacy: LINKS.privacyUri, Help: LINKS.supportUri });
    expect(textOf(page.body)).toContain('You will return to shop.test:8443');
    expect(textOf(page.body)).not.toContain('By signing up');
  });

  it('says what people accept who sign up, above the button', async () => {
    const shop = await createShop({ ...LINKS, allowSignUp: true });
    const { page } = await arrive(shop);
    expect(linksOf(page)).toMatchObject({ [`terms of ${NAME}`]: LINKS.termsUri });
    const [, form = ''] = /<form[^>]*login\/email"(.*?)<\/form>/s.exec(page.body) ?? [];
    expect(form.indexOf('By signing up')).toBeGreaterThan(0);
    expect(form.indexOf('By signing up')).toBeLessThan(form.indexOf('<button'));
  });

  it('shows nothing of what the application lacks', async () => {
    const shop = await createShop({ allowSignUp: true });
    const { page } = await fixture.arrive({ of: shop, login: await begin(shop, 'com.example.shop:/callback') });
    expect(linksOf(page)).toEqual({});
    expect(page.body).not.toMatch(/<img|<picture|:root\{--accent/);
    for (const text of ['You will return', 'By signing up']) expect(textOf(page.body)).not.toContain(text);
  });

  it('shows its logos from its own host, at most 3 rem high, on a plate where there is none for the dark', async () => {
    const shop = await createShop();
    const show = async (theme: string, image: Uint8Array) => {
      await admin.setApplicationLogo({ applicationId: shop.id, theme, image });
      return (await arrive(shop)).page;
    };
    const dark = await show('dark', png(120, 40));
    expect(dark.body).not.toMatch(/<img|<picture/);
    const both = await show('light', png(400, 192));
    const path = `/login/logo/${shop.id}`;
    expect(both.body).toMatch(
      new RegExp(
        `<picture class="logo"><source media="\\(prefers-color-scheme: dark\\)" srcset="${path}/dark/\\w{64}" width="120" height="40"><img src="${path}/light/\\w{64}" width="100" height="48" alt=""></picture>`,
      ),
    );
    expect(both.headers['content-security-policy']).toContain("img-src 'self' data:;");
    for (const [url = ''] of both.body.matchAll(/\/login\/logo\/[^"]+/g)) {
      expect(await request(service.url, { path: url })).toMatchObject({ status: 200 });
    }
    const light = await show('dark', Buffer.alloc(0));
    expect(light.body).toMatch(/<picture class="logo plate"><img src="[^"]+" width="100" height="48" alt="">/);
  });

  it('shows its logos below the path of PUBLIC_URL', async () => {
    await using below = await fixture.startReplica({ publicUrl: 'https://usher.test/auth/' });
    const shop = await createShop();
    await admin.setApplicationLogo({ applicationId: shop.id, theme: 'light', image: png(9, 9) });
    const { path } = await begin(shop);
    const page = await new LoginBrowser(below).open(path);
    expect(page.body).toContain(`<img src="/auth/login/logo/${shop.id}/light/`);
  });
});

/** Every kind of dead end, and how to reach it. */
const DEAD_ENDS: readonly [name: string, reach: (shop: Tenant) => Promise<LoginPage>][] = [
  ['an unknown login', ({ clientId }) => visit(`/login?intent=${randomUUID()}&client_id=${clientId}`)],
  ['a malformed login', ({ clientId }) => visit(`/login/code?intent=x&client_id=${clientId}`)],
  ['no login at all', ({ clientId }) => visit(`/login?client_id=${clientId}`)],
  ['an unknown page', ({ clientId }) => visit(`/login/other?client_id=${clientId}`)],
  [
    'an expired login',
    async (shop) => {
      const { path } = await begin(shop);
      clock.advance(30 * MINUTE);
      return visit(path);
    },
  ],
  [
    'a completed login',
    async (shop) => {
      const { path, loginIntentId } = await begin(shop);
      await admin.completeLogin({ loginIntentId, userId: (await createTestUser(service)).id });
      return visit(path);
    },
  ],
  [
    'a login that has been removed before its form was sent',
    async (shop) => {
      const { browser, page, login } = await arrive(shop);
      await service.database.sql`delete from login_intents where id = ${login.loginIntentId}`;
      return browser.submit(page, '/login/email', { email: 'ada@example.com' });
    },
  ],
  [
    'a form without a cookie',
    async (shop) => {
      const { page } = await arrive(shop);
      return new LoginBrowser(service).submit(page, '/login/email', { email: 'ada@example.com' });
    },
  ],
  [
    'a stale form',
    async (shop) => {
      const { browser, page } = await arrive(shop);
      return browser.submit(page, '/login/email', { email: 'ada@example.com', token: '' });
    },
  ],
];

describe('a dead end leads back', () => {
  it.each(DEAD_ENDS)('from %s to a new login, to the application and to its help', async (_, reach) => {
    const page = await reach(await createShop({ ...LINKS, initiateLoginUri: LOGIN_URI, accentColor: '#5b3fd6' }));
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(page.location).toBeUndefined();
    expect(linksOf(page)).toEqual({
      'Sign in again': LOGIN_URI,
      [`Back to ${NAME}`]: ORIGIN,
      Help: LINKS.supportUri,
      Terms: LINKS.termsUri,
      Privacy: LINKS.privacyUri,
    });
    expect(page.body).toContain('--accent:light-dark(#5b3fd6,');
    expect(page.headers.refresh ?? page.body).not.toMatch(/http-equiv="?refresh/i);
  });

  it.each(DEAD_ENDS)('from %s to the application alone, if that is all there is', async (_, reach) => {
    expect(linksOf(await reach(await createShop()))).toEqual({ [`Back to ${NAME}`]: ORIGIN });
  });

  it('to nothing if the application is not known, or is deleted, or has only a private scheme', async () => {
    const app = await createTenant(service, { redirectUris: ['com.example.shop:/callback'] });
    const gone = await createShop({ initiateLoginUri: LOGIN_URI });
    await admin.deleteApplication({ applicationId: gone.id });
    for (const clientId of ['', 'client_x', 'x'.repeat(5_000), '%00', '%ff', app.clientId, gone.clientId]) {
      const page = await visit(`/login?intent=${randomUUID()}&client_id=${clientId}`);
      expect(page, clientId).toMatchObject({ status: 404, heading: 'This sign-in is not known' });
      expect(linksOf(page)).toEqual({});
    }
  });

  it('from an outage to the same page again', async () => {
    await using broken = await LoginFixture.open();
    const login = await beginLogin(broken.service, broken.tenant);
    const { browser, page } = await broken.arrive({ login });
    await broken.service.database.sql`alter table login_intents rename to gone`;
    for (const failed of [
      await browser.open(login.path),
      await browser.submit(page, '/login/email', { email: 'a@b.c' }),
    ]) {
      expect(failed.heading).toBe('We cannot sign you in right now');
      const { pathname, searchParams } = new URL(linksOf(failed)['Try again'] ?? '', service.url);
      expect({ pathname, ...Object.fromEntries(searchParams) }).toEqual({
        pathname: '/login',
        intent: login.loginIntentId,
        client_id: broken.tenant.clientId,
      });
    }
  });
});

describe('login_methods of an application', () => {
  it.each([
    { methods: ['email'], offered: ['/login/email', '/login/cancel'] },
    { methods: ['wallet', 'passkey'], offered: ['/login/wallet', '/login/cancel'] },
    { methods: [], offered: ['/login/email', '/login/wallet', '/login/cancel'] },
  ])('$methods are what its page offers', async ({ methods, offered }) => {
    const { page } = await arrive(await createShop({ loginMethods: methods }));
    const actions = page.forms.filter(({ method }) => method === 'post').map(({ action }) => action);
    expect(actions).toEqual(offered);
  });

  it('are the only ones whose forms are taken', async () => {
    const shop = await createShop({ allowSignUp: true });
    const user = await createTestUser(service);
    const wallet = new Wallet();
    const byEmail = await fixture.askForCode({ of: shop, login: await begin(shop), user });
    const byWallet = await fixture.askForMessage(wallet.address, { of: shop, login: await begin(shop) });

    await admin.updateApplication({ applicationId: shop.id, loginMethods: ['wallet'] });
    const refused = await byEmail.enter(byEmail.code);
    expect(refused).toMatchObject({ status: 200, location: undefined, heading: expect.stringContaining(NAME) });
    expect(refused.alert).toContain('not available here');
    expect(await fixture.isCompleted(byEmail.login.loginIntentId)).toBe(false);
    const { browser, page } = await arrive(shop);
    const sent = await browser.post('/login/email', { ...formOf(page, '/login/cancel').fields, email: user.email });
    expect(sent).toMatchObject({ status: 200, heading: expect.stringContaining(NAME) });
    // Whose wallet is new would need an e-mail address.
    const unlinked = await byWallet.send(wallet.sign(byWallet.message));
    expect(unlinked.alert).toContain('No account has this wallet');

    await admin.updateApplication({ applicationId: shop.id, loginMethods: ['email'] });
    const fields = { ...formOf(page, '/login/cancel').fields, address: wallet.address };
    expect(await browser.post('/login/wallet/challenge', fields)).toMatchObject({ status: 400 });
    expect(await byWallet.send('0x00')).toMatchObject({ status: 200, location: undefined });
  });

  it('that are all disabled show that nobody can sign in, with the ways on', async () => {
    await using other = await fixture.startReplica({ loginMethods: ['email'] });
    const shop = await createShop({ loginMethods: ['wallet'], ...LINKS });
    const page = await new LoginBrowser(other).open((await begin(shop)).path);
    expect(page).toMatchObject({ status: 503, heading: 'We cannot sign you in right now' });
    expect(linksOf(page)).toMatchObject({ Help: LINKS.supportUri, [`Back to ${NAME}`]: ORIGIN });
  });
});
