/** The logos of an application: uploaded, refused and removed in the console. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleBrowser, ConsoleFixture, type ConsoleReply, OPERATORS } from '../../../support/console-fixture.ts';
import { request } from '../../../support/http.ts';
import { png } from '../../../support/images.ts';
import { adminClient } from '../../../support/service.ts';

const KIB = 1_024;

let fixture: ConsoleFixture;
let admin: ConsoleBrowser;
let path: string;

beforeAll(async () => {
  fixture = await ConsoleFixture.open();
  admin = await fixture.signIn(OPERATORS.admin);
  path = `/applications/${fixture.tenant.id}/logo`;
});

afterAll(() => fixture.close());

/** Sends the form as a browser does. */
async function upload(
  image: Uint8Array,
  { theme = 'light', browser = admin, headers = { 'sec-fetch-site': 'same-origin' } as Record<string, string> } = {},
): Promise<ConsoleReply> {
  const form = new FormData();
  form.set('theme', theme);
  form.set('image', new File([Buffer.from(image)], '../<b>"logo.png'));
  const encoded = new Response(form);
  const body = await encoded.bytes();
  return browser.post(path, body, { 'content-type': encoded.headers.get('content-type') ?? '', ...headers });
}

const readLogos = async () => {
  const { application } = await adminClient(fixture.service).getApplication({ applicationId: fixture.tenant.id });
  return [application?.logoUri, application?.darkLogoUri];
};

test('a logo is uploaded for light pages and for dark ones, shown, and removed, each with an event in the audit log', async () => {
  const images = { light: png(40, 20), dark: png(20, 20) };
  expect((await admin.open(path)).text).toContain('None: pages show the name of the application.');
  for (const [theme, image] of Object.entries(images)) {
    fixture.clock.advance(1_000);
    expect(await upload(image, { theme })).toMatchObject({ status: 303, location: `${path}?done=saved` });
    expect((await fixture.readAudit())[0]).toMatchObject({ action: 'AdminService/SetApplicationLogo' });
  }
  const page = await admin.open(`${path}?done=saved`);
  expect(page.text).toContain('Saved.');
  for (const image of Object.values(images)) {
    expect(page.body).toContain(`<img src="data:image/png;base64,${image.toString('base64')}"`);
  }
  const [uri = ''] = await readLogos();
  const served = await request(fixture.service.url, { path: new URL(uri).pathname });
  expect(served).toMatchObject({ status: 200, headers: { 'content-type': 'image/png' } });
  await admin.post(path, { remove: 'light' });
  expect(await readLogos()).toEqual([undefined, expect.any(String)]);
  await admin.post(path, { remove: 'dark' });
  expect(await readLogos()).toEqual([undefined, undefined]);
});

describe('an image that no RPC would take', () => {
  test.each([
    ['is no image', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'whole, still image'],
    ['is animated', png(1, 1, { chunk: 'acTL' }), 'whole, still image'],
    ['is too wide', png(1_025, 1), '1 x 1 to 1024 x 512 pixels'],
    ['has more than 40 KiB', png(1, 1, { bytes: 40 * KIB + 1 }), 'at most 40 KiB'],
    ['has 300 KiB', png(1, 1, { bytes: 300 * KIB }), 'at most 40 KiB'],
    ['was not chosen', new Uint8Array(), 'must be a file'],
  ])('is refused at its field if it %s', async (_, image, problem) => {
    await upload(png(8, 8));
    const before = await readLogos();
    const { status, body } = await upload(image);
    expect(status).toBe(422);
    expect(/id="image-wrong">(.*?)<\/p>/.exec(body)?.[1]).toContain(problem);
    expect(await readLogos()).toEqual(before);
  });

  test.each([
    '',
    '--x',
    '--x\r\n\r\n--x--',
    '--x\r\ncontent-disposition: form-data; name="image"\r\n\r\ntext\r\n--x--\r\n',
    '--x\r\ncontent-disposition: form-data; name="t"\r\n\r\n\r\n'.repeat(700),
  ])('is refused in a broken form: %j', async (body) => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x', 'sec-fetch-site': 'same-origin' };
    expect((await admin.post(path, Buffer.from(body), headers)).status).toBe(422);
  });
});

test('a logo that there is not has no button to remove it, and dark pages show that of light ones', async () => {
  await admin.post(path, { remove: 'light' });
  await admin.post(path, { remove: 'dark' });
  const none = await admin.open(path);
  expect(none.text.match(/None: [^.]*/g)).toEqual(Array(2).fill('None: pages show the name of the application'));
  expect(none.body).not.toContain('name="remove"');
  await upload(png(8, 8));
  const light = await admin.open(path);
  expect(light.text.match(/None: [^.]*/g)).toEqual(['None: dark pages show the light logo on white']);
  expect([...light.body.matchAll(/name="remove" value="(\w+)"/g)].map(([, theme]) => theme)).toEqual(['light']);
});

describe('the preview of the login page', () => {
  const preview = async (query = '') => (await admin.open(path.replace(/logo$/, `preview${query}`))).body;

  test('has the logo of each theme that there is', async () => {
    await admin.post(path, { remove: 'light' });
    await admin.post(path, { remove: 'dark' });
    const logosIn = (body: string) => body.match(/data:image\/png;base64/g)?.length ?? 0;
    expect(logosIn(await preview())).toBe(0);
    await upload(png(8, 8));
    expect(logosIn(await preview())).toBe(1);
    await upload(png(9, 9), { theme: 'dark' });
    expect(logosIn(await preview())).toBe(2);
  });

  test('is of the page that was chosen, and of the first one otherwise', async () => {
    const [choice, code, name] = [await preview(), await preview('?form=code'), await preview('?form=name')];
    expect(choice).toContain('action="/login/email"');
    expect(code).toContain('action="/login/code"');
    expect(name).toContain('action="/login/name"');
    expect(await preview('?form=other')).toContain('action="/login/email"');
  });

  test('offers what the settings of the application allow', async () => {
    const { updateApplication } = adminClient(fixture.service);
    const applicationId = fixture.tenant.id;
    await updateApplication({ applicationId, loginMethods: ['passkey'] });
    expect(await preview()).not.toContain('action="/login/email"');
    await updateApplication({ applicationId, loginMethods: ['email'], requiredAssurance: 'PHISHING_RESISTANT' });
    expect(await preview()).not.toContain('action="/login/email"');
    expect(await preview()).toContain('accepts only a passkey that checks');
    await updateApplication({ applicationId, requiredAssurance: 'ANY' });
    expect(await preview()).toContain('action="/login/email"');
  });
});

test('the preview says how surely people must sign in, where there is a way', async () => {
  const provider = {
    id: 'acme',
    name: 'Acme',
    type: 'openid',
    issuer: 'https://acme.test/a',
    clientId: 'usher',
  } as const;
  const rest = { clientSecret: 'secret', trustEmail: false, emailDomains: [], assurance: { amr: { mfa: 2 as const } } };
  await using other = await ConsoleFixture.open({
    config: { loginProviderIds: undefined, loginProviders: [{ ...provider, ...rest }] },
  });
  const applicationId = other.tenant.id;
  await adminClient(other.service).updateApplication({ applicationId, requiredAssurance: 'TWO_FACTORS' });
  const ada = await other.signIn(OPERATORS.admin);
  expect((await ada.open(`/applications/${applicationId}/preview`)).body).toContain('takes two factors.');
});

test('the largest logo fits', async () => {
  expect((await upload(png(1_024, 512, { bytes: 40 * KIB }))).status).toBe(303);
});

test('a theme that there is not is refused', async () => {
  expect((await upload(png(1, 1), { theme: 'sepia' })).status).toBe(422);
});

test('only an admin may upload, from the console, and only there a file is taken', async () => {
  const image = png(8, 8);
  const support = await fixture.signIn(OPERATORS.support);
  expect((await upload(image, { browser: support })).status).toBe(403);
  expect((await upload(image, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
  admin = await fixture.signIn(OPERATORS.admin);
  const multipart = { 'content-type': 'multipart/form-data; boundary=x', 'sec-fetch-site': 'same-origin' };
  expect((await admin.post('/users/new', Buffer.from('--x--'), multipart)).status).toBe(415);
});
