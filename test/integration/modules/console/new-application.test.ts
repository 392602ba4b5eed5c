/** The page after an application was created: what it is, its key, and the quick start with its values. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import openIdClients from '../../../../gen/openid-clients.json' with { type: 'json' };
import quickStarts from '../../../../gen/quick-starts.json' with { type: 'json' };
import { html } from '../../../../src/http/html.ts';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { adminClient, clientsOf, PUBLIC_URL } from '../../../support/service.ts';

const NEW = '/applications/new';

let fixture: ConsoleFixture;
let browser: ConsoleBrowser;

beforeAll(async () => {
  fixture = await ConsoleFixture.open();
  browser = await fixture.signIn(OPERATORS.admin);
});
afterAll(() => fixture.close());

/** Creates an application as the form does. Returns the answer, the application as the API has it, and its line. */
async function create(kind: string, typed: Record<string, string> = {}) {
  fixture.clock.advance(1_000);
  const form = { name: 'Bakery', redirectUris: 'http://127.0.0.1/callback', kind, ...typed };
  const page = await browser.submit(await browser.open(NEW), NEW, form);
  expect(page.status).toBe(200);
  const { applications } = await adminClient(fixture.service).listApplications({ pageSize: 1 });
  const line = textIn(/data-copy="( export [^"]*)"/.exec(page.body)?.[1]);
  return { page, application: applications[0], line, code: readCode(page.body) };
}

const readCode = (body: string) =>
  [...body.matchAll(/<pre[^>]*><code>(.*?)<\/code>/gs)].map(([, code]) => textIn(code));
const textIn = (text = '') => text.replace(/&#(\d+);|&(amp|lt|gt|quot);/g, decode);
const decode = (_: string, number?: string, name = '') =>
  number ? String.fromCharCode(Number(number)) : ({ amp: '&', lt: '<', gt: '>', quot: '"' }[name] ?? '');

test.each(['server', 'own-page'] as const)(
  'of the kind %s has a line with its key, and its quick starts',
  async (kind) => {
    const { page, application, line, code } = await create(kind);
    expect(application).toMatchObject({ openIdConnect: false, publicClient: false, requirePkce: true });
    const values = `USHER_URL=${PUBLIC_URL} CLIENT_ID=${application?.clientId} API_KEY=`;
    const apiKey = line.slice(` export ${values}`.length);
    expect(line).toBe(` export ${values}${apiKey}`);
    await clientsOf(fixture.service, { apiKey }).events.listEvents({});
    const login = quickStarts.filter((each) => each.kind === 'own-page');
    const all = [...(kind === 'own-page' ? login : []), ...quickStarts.filter((each) => each.kind === 'server')];
    const lineOf = (each: (typeof all)[number]) => (login.includes(each) ? ` export USHER_URL=${PUBLIC_URL}` : line);
    expect(code).toEqual(all.flatMap((each) => [`${lineOf(each)}\n${each.setup}`, each.text]));
    // What a reload shows has the key no more.
    const path = `/applications/${application?.id}/keys`;
    expect(page.body).toContain(`data-path="${path}"`);
    expect((await browser.open(path)).body).not.toContain(apiKey);
  },
);

test('a single-page app is a public client, and its line and its commands have no key', async () => {
  const { application, line, code } = await create('single-page', {
    redirectUris: 'http://127.0.0.1/callback\r\nhttps://shop.test/a/back\r\nhttps://shop.test/silent',
  });
  expect(application).toMatchObject({
    openIdConnect: true,
    publicClient: true,
    requirePkce: true,
    postLogoutRedirectUris: ['http://127.0.0.1/', 'https://shop.test/'],
  });
  expect(line).toBe(` export USHER_URL=${PUBLIC_URL} CLIENT_ID=${application?.clientId}`);
  const [commands = '', file, key = ''] = code;
  const start = quickStarts.find(({ kind }) => kind === 'single-page');
  expect(commands).toBe(`${line}\n${start?.setup}`);
  expect(file).toBe(start?.text);
  await clientsOf(fixture.service, { apiKey: key }).events.listEvents({});
  const { application: other } = await create('single-page', { postLogoutRedirectUris: 'https://shop.test/bye' });
  expect(other?.postLogoutRedirectUris).toEqual(['https://shop.test/bye']);
});

test('a product gets the settings of products with its values', async () => {
  const { application, line, code } = await create('product', { redirectUris: 'https://wiki.test/callback' });
  expect(application).toMatchObject({ openIdConnect: true, publicClient: false, requirePkce: true });
  const [, apiKey = ''] = /API_KEY=(\S+)/.exec(line) ?? [];
  const settings = code.slice(0, openIdClients.length);
  const own = quickStarts.filter(({ kind }) => kind === 'product');
  expect(code.slice(settings.length)).toEqual(own.flatMap(({ setup, text }) => [`${line}\n${setup}`, text]));
  for (const text of settings) expect(text).not.toMatch(/login\.example\.com|client_…|usk_…/);
  const grafana = settings.find((text) => text.includes('[auth.generic_oauth]')) ?? '';
  for (const value of [`${PUBLIC_URL}/oidc/token`, application?.clientId ?? '-', apiKey])
    expect(grafana).toContain(value);
});

test('says which redirect URI a quick start needs that the application does not have', async () => {
  const missing = 'What follows comes back to http://127.0.0.1/callback.';
  expect((await create('server', { redirectUris: 'https://shop.test/a' })).page.text).toContain(missing);
  expect((await create('server', { redirectUris: 'http://127.0.0.1:3000/callback' })).page.text).not.toContain(missing);
});

test('says that OpenID Connect is off, and not that it is on', async () => {
  const text = 'It is off: set OIDC_SIGNING_KEYS_FILE.';
  expect((await browser.open(NEW)).text.split(text)).toHaveLength(3);
  await using other = await ConsoleFixture.open({ oidcSigningKeys: [createRsaJwk()] });
  expect((await (await other.signIn(OPERATORS.admin)).open(NEW)).text).not.toContain(text);
});

test('a refused form keeps the kind', async () => {
  const page = await browser.open(NEW);
  const reply = await browser.submit(page, NEW, { name: 'Bakery', redirectUris: 'nowhere', kind: 'product' });
  expect(reply.status).toBe(422);
  expect(reply.forms.find(({ action }) => action === NEW)?.fields.kind).toBe('product');
});

test('names are text on the page', async () => {
  const name = '"><b>&';
  expect((await create('server', { name })).page.body).toContain(html`<h1><bdi>${name}</bdi></h1>`.text);
});
