/** Which language a browser gets. */
import { afterAll, describe, expect, it } from 'vitest';
import { request } from '../support/http.ts';
import { beginLogin, formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';

const fixture = await LoginFixture.open({ name: 'Shop' });
const { service, tenant } = fixture;
afterAll(() => fixture.close());

const languageOf = ({ body }: LoginPage) => /<html lang="([\w-]+)" dir="(ltr|rtl)">/.exec(body)?.[1];
const cookieOf = ({ cookies }: LoginPage) => cookies.find((cookie) => cookie.startsWith('usher-lang='));

/** Opens a new login. */
async function arrive({
  locale,
  browser = new LoginBrowser(service),
}: {
  locale?: string;
  browser?: LoginBrowser;
} = {}) {
  const login = await beginLogin(service, tenant, locale ? { locale } : {});
  return { browser, login, page: await browser.open(login.path) };
}

describe('the language of a page is', () => {
  it('English, or the one that the browser prefers', async () => {
    const { page } = await arrive();
    expect(languageOf(page)).toBe('en');
    const german = await arrive({ browser: new LoginBrowser(service, { languages: 'de-CH, en;q=0.5' }) });
    expect(german.page).toMatchObject({ heading: 'Bei Shop anmelden' });
    expect(german.page.headers).toMatchObject({ 'content-language': 'de', vary: 'accept-language' });
    expect(cookieOf(german.page)).toBeUndefined();
  });

  it('the one that the application wants, on every page of the login, whatever the browser prefers', async () => {
    const { browser, page, login } = await arrive({
      locale: 'xx de-AT',
      browser: new LoginBrowser(service, { languages: 'en' }),
    });
    expect(languageOf(page)).toBe('de');
    const codePage = await browser.submit(page, '/login/email', { email: 'nobody@example.com' });
    expect(codePage.heading).toBe('Sehen Sie in Ihre E-Mails');
    const refused = await browser.submit(codePage, '/login/code', { code: '' });
    expect(refused.alert).toBe('Bitte geben Sie die Ziffern aus der E-Mail ein.');
    const { fields } = formOf(page, '/login/wallet');
    const { body } = await browser.post('/login/wallet/challenge', { ...fields, address: '' });
    expect(JSON.parse(body)).toEqual({ error: expect.stringMatching(/^Ihre Wallet hat ihre Adresse nicht/) });
    fixture.clock.advance(30 * 60_000);
    expect((await browser.open(login.path)).heading).toBe('Diese Anmeldung ist abgelaufen');
  });

  it('the one that the person chooses, on every page of the login, whatever the application wants', async () => {
    const { browser, page } = await arrive({ locale: 'en' });
    const german = await browser.switchLanguage(page, 'de');
    expect(german.heading).toBe('Bei Shop anmelden');
    expect(cookieOf(german)).toBe('usher-lang=de; Max-Age=34560000; Path=/; HttpOnly; Secure; SameSite=Lax');
    const codePage = await browser.submit(german, '/login/email', { email: 'nobody@example.com' });
    expect(languageOf(codePage)).toBe('de');
    const refused = await browser.submit(codePage, '/login/code', { code: '' });
    expect(languageOf(refused)).toBe('de');
    const choice = await browser.submit(refused, '/login');
    expect({ language: languageOf(choice), cookie: cookieOf(choice) }).toEqual({ language: 'de', cookie: undefined });
    // With the alert that it shows.
    const english = await browser.switchLanguage(refused, 'en');
    expect(english).toMatchObject({ heading: 'Check your e-mail', alert: 'Please enter the digits from the e-mail.' });
  });

  it('at the next login the one that the person has chosen, unless the application wants another', async () => {
    const { browser, page } = await arrive();
    await browser.switchLanguage(page, 'de');
    expect(languageOf((await arrive({ browser })).page)).toBe('de');
    expect(languageOf((await arrive({ browser, locale: 'en' })).page)).toBe('en');
    expect(languageOf((await arrive({ browser, locale: 'xx' })).page)).toBe('de');
  });

  it('the same on error pages, which can be switched, too', async () => {
    const browser = new LoginBrowser(service, { languages: 'de' });
    for (const path of ['/login', '/login/other', '/login/email', '/login?intent=1&client_id=%22%3E']) {
      const page = await browser.open(path);
      expect(languageOf(page)).toBe('de');
      const english = await browser.switchLanguage(page, 'en');
      expect({ ...english, heading: languageOf(english) }).toMatchObject({ status: page.status, heading: 'en' });
      browser.cookie = undefined;
    }
    const { page } = await arrive({ browser });
    const refused = await browser.submit(page, '/login/cancel', { token: '' });
    expect(refused).toMatchObject({ status: 403, heading: 'Diese Seite war veraltet' });
    expect(await browser.switchLanguage(refused, 'en')).toMatchObject({ status: 200, heading: 'Sign in to Shop' });
  });
});

it('the footer has each language once, in its own words, and marks that of the page', async () => {
  const { body } = (await arrive({ locale: 'de' })).page;
  const options = [...body.matchAll(/<option value="([\w-]+)" lang="\1"( dir="rtl")?( selected)?>([^<]+)<\/option>/g)];
  expect(options.filter(([, , , selected]) => selected).map(([, tag, , , name]) => [tag, name])).toEqual([
    ['de', 'Deutsch'],
  ]);
  expect(options.filter(([, , direction]) => direction).map(([, tag]) => tag)).toEqual(['ar']);
  const tags = ['ar', 'de', 'en', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt-BR', 'tr', 'zh-Hans'];
  expect(options.map(([, tag]) => tag)).toEqual(tags);
});

describe('what is no language', () => {
  const hostile = ['"><script>', '../../en', '__proto__', 'x'.repeat(5_000), '\u202e', 'de\r\nx: 1', ','.repeat(3_000)];

  it.each(hostile)('is ignored: %j', async (lang) => {
    const login = await beginLogin(service, tenant);
    const page = await new LoginBrowser(service).open(`${login.path}&${new URLSearchParams({ lang })}`);
    expect(page).toMatchObject({ status: 200, heading: 'Sign in to Shop' });
    expect(cookieOf(page)).toBeUndefined();
    expect(page.body).not.toContain('"><script>');
    const header = lang.replace(/[^\x20-\x7e]/g, '?');
    const headers = { 'accept-language': header, cookie: `usher-lang=${encodeURIComponent(lang)}` };
    const reply = await request(service.url, { path: login.path, headers });
    expect(reply).toMatchObject({ status: 200, headers: { 'content-language': 'en' } });
  });
});
