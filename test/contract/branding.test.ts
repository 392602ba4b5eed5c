/** How an application appears on the login page: its colour, links, methods and logos. */
import { hash } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { fieldOf, refusal, success, validationFailed } from '../support/answers.ts';
import { type HttpReply, request } from '../support/http.ts';
import { png, webp } from '../support/images.ts';
import { createLoginIntent, createTenant, PUBLIC_URL, REDIRECT_URI, startTestService } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const { createApplication, getApplication, updateApplication, deleteApplication } = AdminService.method;
const { getLoginIntent, setApplicationLogo, listAuditEvents } = AdminService.method;
const BRANDING = {
  accentColor: '#ffcc00',
  termsUri: 'https://shop.test/terms?a=1#top',
  privacyUri: 'https://shop.test/privacy',
  supportUri: 'mailto:help@shop.test',
  initiateLoginUri: 'https://shop.test/login',
};
const FLAGS = { allowSignUp: true, askName: true, singleSignOn: true, sessionMaxAgeSeconds: 900 };
const INVALID_LOGO = { code: 'invalid_argument', message: 'Invalid logo', fields: ['image'] };

const { service, tenant, callWith } = await openContractFixture();

const applicationOf = async (id: string) => {
  const { data } = await callWith(getApplication, { applicationId: id });
  return (data as { application: JsonObject }).application;
};
const setLogo = (applicationId: string, theme: string, image: Uint8Array) =>
  callWith(setApplicationLogo, { applicationId, theme, image: Buffer.from(image).toString('base64') });
/** Loads what a URL of the service leads to. */
const load = (uri: unknown): Promise<HttpReply> => request(service.url, { path: String(uri).replace(PUBLIC_URL, '') });

describe('the branding of an application', () => {
  it('is what CreateApplication was given', async () => {
    const fields = { ...BRANDING, ...FLAGS, loginMethods: ['email', 'passkey'] };
    const required = { name: 'Shop', redirectUris: [REDIRECT_URI] };
    const { data } = await callWith(createApplication, { ...required, ...fields });
    const { application } = data as { application: JsonObject };
    expect(application).toMatchObject({ ...required, ...fields });
    expect(await applicationOf(fieldOf(application, 'id'))).toEqual(application);
  });

  it('is what UpdateApplication was given, until a mask clears it', async () => {
    const { id: applicationId } = await createTenant(service);
    const before = await applicationOf(applicationId);
    const fields = { ...BRANDING, loginMethods: ['wallet'], singleSignOn: true };
    const changed = success({ application: { ...before, ...fields } });
    expect(await callWith(updateApplication, { applicationId, ...fields })).toEqual(changed);
    expect(await callWith(updateApplication, { applicationId, loginMethods: [] })).toEqual(changed);
    const updateMask = [...Object.keys(BRANDING), 'loginMethods'].join();
    await callWith(updateApplication, { applicationId, singleSignOn: false });
    expect(await callWith(updateApplication, { applicationId, updateMask })).toEqual(success({ application: before }));
  });

  it.each<[JsonObject, JsonObject]>([
    [{ accentColor: '#FFCC00' }, { accentColor: '#ffcc00' }],
    [{ loginMethods: ['email', 'email'] }, { loginMethods: ['email'] }],
    [{ supportUri: 'https://shop.test/help' }, { supportUri: 'https://shop.test/help' }],
    [{ initiateLoginUri: 'http://localhost:3000/login?from=usher' }, {}],
  ])('takes %j', async (fields, stored) => {
    const answer = await callWith(updateApplication, { applicationId: tenant.id, ...fields });
    expect(answer).toMatchObject({ data: { application: { ...fields, ...stored } } });
  });

  // Each format: test/integration/reference/openapi.test.ts.
  it.each<[string, JsonObject]>([
    ['accentColor', { accentColor: '#fff;background:url(https://evil.test)' }],
    ['accentColor', { accentColor: '' }],
    ['termsUri', { termsUri: 'javascript:alert(1)' }],
    ['privacyUri', { privacyUri: 'mailto:help@shop.test' }],
    ['privacyUri', { privacyUri: 'https://shop.test\\@evil.test/' }],
    ['supportUri', { supportUri: 'mailto:help@shop.test?bcc=all@shop.test' }],
    ['supportUri', { supportUri: 'mailto:help@shop.test%0d%0aBcc:all@shop.test' }],
    ['initiateLoginUri', { initiateLoginUri: 'com.example.app:/login' }],
    ['initiateLoginUri', { initiateLoginUri: 'http://shop.test/login' }],
    ['loginMethods', { loginMethods: ['Password'] }],
  ])('refuses a wrong %s: %j', async (field, fields) => {
    const answer = await callWith(updateApplication, { applicationId: tenant.id, ...fields });
    expect(answer).toEqual(validationFailed(field));
  });

  it('is in GetLoginIntent, for pages of ones own', async () => {
    const shop = await createTenant(service);
    const branding = { ...BRANDING, loginMethods: ['email'], allowSignUp: true };
    await callWith(updateApplication, { applicationId: shop.id, ...branding });
    await setLogo(shop.id, 'dark', png(9, 9));
    const { darkLogoUri = null } = await applicationOf(shop.id);
    const { data } = await callWith(getLoginIntent, { loginIntentId: await createLoginIntent(service, shop) });
    expect(data).toMatchObject({ loginIntent: { ...branding, darkLogoUri, applicationName: shop.name } });
    expect((data as { loginIntent: object }).loginIntent).not.toHaveProperty('logoUri');
  });
});

describe('SetApplicationLogo', () => {
  it('stores a logo for each theme, and everybody may load it for ever', async () => {
    const { id } = await createTenant(service);
    const logos = { light: png(120, 40), dark: webp('VP8L', 120, 40) };
    const light = await setLogo(id, 'light', logos.light);
    expect((light.data as { application: object }).application).not.toHaveProperty('darkLogoUri');
    const { data } = await setLogo(id, 'dark', logos.dark);
    const application = await applicationOf(id);
    expect(data).toEqual({ application });
    const uriOf = (theme: 'light' | 'dark') =>
      `${PUBLIC_URL}/login/logo/${id}/${theme}/${hash('sha256', logos[theme])}`;
    expect(application).toMatchObject({ logoUri: uriOf('light'), darkLogoUri: uriOf('dark') });
    for (const [theme, mediaType] of [
      ['light', 'image/png'],
      ['dark', 'image/webp'],
    ] as const) {
      const reply = await load(uriOf(theme));
      expect(reply.bytes.equals(logos[theme])).toBe(true);
      expect(reply).toMatchObject({
        status: 200,
        headers: {
          'content-type': mediaType,
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; sandbox",
          'cross-origin-resource-policy': 'same-origin',
        },
        cookies: [],
      });
    }
  });

  it('replaces a logo, and removes it with an empty image; what was there is not found', async () => {
    const { id } = await createTenant(service);
    const logoUriAfter = async (image: Uint8Array) => {
      expect(await setLogo(id, 'light', image)).toMatchObject({ code: 'ok' });
      return (await applicationOf(id)).logoUri;
    };
    const first = await logoUriAfter(png(1, 1));
    const second = await logoUriAfter(png(2, 2));
    expect([(await load(first)).status, (await load(second)).status]).toEqual([404, 200]);
    for (const _ of ['a logo', 'none']) expect(await logoUriAfter(Buffer.alloc(0))).toBeUndefined();
    expect(await load(second)).toMatchObject({ status: 404, headers: { 'cache-control': 'no-store' } });
    const { data } = await callWith(listAuditEvents, { applicationId: id });
    const actions = (data as { auditEvents: { action: string }[] }).auditEvents.map(({ action }) => action);
    const changes = Array(3).fill('AdminService/SetApplicationLogo');
    expect(actions).toEqual([...changes, 'AdminService/CreateApplication']);
  });

  it('does not show a logo of another application, theme or digest', async () => {
    const [shop, other] = [await createTenant(service), await createTenant(service)];
    await setLogo(shop.id, 'light', png(1, 1));
    await setLogo(other.id, 'light', png(2, 2));
    const path = String((await applicationOf(shop.id)).logoUri);
    expect(await load(path)).toMatchObject({ status: 200 });
    const digest = path.slice(-64);
    for (const wrong of [
      path.replace(shop.id, other.id),
      path.replace('/light/', '/dark/'),
      path.replace(digest, '0'.repeat(64)),
      path.replace(digest, digest.toUpperCase()),
      path.replace(shop.id, 'x'),
      path.replace('/light/', '/%00/'),
      path.replace('/light/', '/../light/'),
      `${path}/`,
      path.slice(0, -1),
      '/login/logo/',
    ]) {
      expect(await load(wrong), wrong).toMatchObject({ status: 404 });
    }
  });

  it('keeps the old logo if the new one is none', async () => {
    const { id } = await createTenant(service);
    await setLogo(id, 'light', png(1, 1));
    const before = await applicationOf(id);
    for (const wrong of [Buffer.from('<svg/>'), png(2000, 1), png(9, 9, { bytes: 41 * 1024 })]) {
      expect(await setLogo(id, 'light', wrong)).toMatchObject(INVALID_LOGO);
    }
    expect(await applicationOf(id)).toEqual(before);
    expect(await load(before.logoUri)).toMatchObject({ status: 200 });
  });

  it('is refused for another theme, an unknown application and a deleted one, whose logos are gone', async () => {
    const { id } = await createTenant(service);
    await setLogo(id, 'light', png(1, 1));
    const { logoUri } = await applicationOf(id);
    expect(await setLogo(id, 'blue', png(1, 1))).toEqual(validationFailed('theme'));
    const notFound = refusal('not_found', 'Application not found');
    expect(await setLogo(UNKNOWN_ID, 'light', png(1, 1))).toEqual(notFound);
    await callWith(deleteApplication, { applicationId: id });
    for (const image of [png(1, 1), Buffer.alloc(0)]) expect(await setLogo(id, 'light', image)).toEqual(notFound);
    expect(await load(logoUri)).toMatchObject({ status: 404 });
    expect(await service.database.sql`select from application_logos where application_id = ${id}`).toEqual([]);
  });

  it('serves logos also to another login page, to GET and HEAD alone', async () => {
    const { id } = await createTenant(service);
    await setLogo(id, 'light', png(1, 1));
    const path = String((await applicationOf(id)).logoUri).replace(PUBLIC_URL, '');
    const { database, config: like } = service;
    await using elsewhere = await startTestService({ database, like, config: { authPageUrl: 'https://login.test/' } });
    expect(await request(elsewhere.url, { path })).toMatchObject({ status: 200 });
    expect(await request(elsewhere.url, { path, method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
    expect(await request(elsewhere.url, { path, body: '' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
  });
});
