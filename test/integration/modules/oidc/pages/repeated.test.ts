/** How much of a request its page repeats. */
import { afterAll, describe, expect, it, test } from 'vitest';
import { keepParameters } from '../../../../../src/login-page/browser/language-choice.ts';
import { request } from '../../../../support/http.ts';
import { LoginFixture } from '../../../../support/login-fixture.ts';
import { authorizationOf, createRsaJwk } from '../../../../support/oidc.ts';
import { createTenant } from '../../../../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
afterAll(() => fixture.close());
const { service } = fixture;
const tenant = await createTenant(service, { openIdConnect: true });

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

async function ask(method: string, path: string, text: string) {
  const headers = { accept: 'text/html', ...(method === 'POST' && FORM) };
  return method === 'GET'
    ? request(service.url, { path: `${path}?${text}`, headers })
    : request(service.url, { method, path, body: text, headers });
}

const NEEDED = [
  ...['client_id', 'redirect_uri', 'state', 'scope', 'login', 'code', 'intent', 'error', 'user_code', 'request'],
  ...['id_token_hint', 'post_logout_redirect_uri', 'ui_locales', 'done', 'email', 't', 'token'],
];
const join = (names: readonly string[], value: string) => names.map((name) => `${name}=${value}`).join('&');
/** Some 8,000 bytes each. */
const REQUESTS: readonly (readonly [what: string, text: string])[] = [
  ['what it needs, as it is', join(NEEDED, 'a'.repeat(460))],
  ['what it needs, to be escaped', join(NEEDED, '"'.repeat(460))],
  ['one parameter, to be escaped', `done=1&client_id=${'"'.repeat(8_000)}`],
  ['all that a signed-out page needs', `done=1&client_id=${'a'.repeat(8_000)}`],
  ['a code', `user_code=${'&#'.repeat(4_000)}`],
  ['others', `client_id=x&${join(['x', 'y', 'z'], '"'.repeat(2_600))}`],
  ['many short ones', join(Array(1_600).fill('x'), '1')],
  ['one of them very often', join(Array(700).fill('client_id'), '1')],
];
const PAGES = [
  ...['/oidc/authorize', '/oidc/logout', '/oidc/consent', '/oidc/return', '/device', '/device/request'],
  ...['/device/approve', '/login', '/login/email', '/login/mute', '/account', '/account/undo', '/none'],
];

describe('a page repeats no more bytes than it got', () => {
  test.each(PAGES.flatMap((path) => [`GET ${path}`, `POST ${path}`]))('%s', async (route) => {
    const [method = '', path = ''] = route.split(' ');
    const { body: plain } = await ask(method, path, 'done=1');
    for (const [what, text] of REQUESTS) {
      const { body } = await ask(method, path, text);
      const more = Buffer.byteLength(body) - Buffer.byteLength(plain);
      expect([what, Math.max(more, text.length)]).toEqual([what, text.length]);
    }
  });
});

describe('a page in another language', () => {
  const hidden = (body: string) =>
    [...body.matchAll(/type="hidden" name="(\w+)"/g)].map(([, name]) => name).filter((name) => name !== 'token');

  it('is asked for with what it needs', async () => {
    const wanted = authorizationOf(tenant, { redirect_uri: 'https://other.test/' });
    const { body } = await ask('GET', '/oidc/authorize', `${wanted}&more=1`);
    expect(hidden(body).toSorted()).toEqual([...wanted.keys()].toSorted());
    const logout = await ask('GET', '/oidc/logout', `client_id=${tenant.clientId}&id_token_hint=x&state=y&more=1`);
    expect(hidden(logout.body).toSorted()).toEqual(['client_id', 'id_token_hint', 'state']);
  });

  it('is not offered where it would need too much', async () => {
    const { body } = await ask('GET', '/oidc/authorize', `client_id=x&state=${'"'.repeat(4_000)}`);
    expect(hidden(body)).toEqual([]);
    expect(body).not.toContain('name="lang"');
  });

  it('is not offered where a form of the page has the same parameters, and both would be too long', () => {
    const form = `state=${'a'.repeat(3_000)}&more=1`;
    expect(keepParameters(form, ['state'])).toEqual([['state', 'a'.repeat(3_000)]]);
    expect(keepParameters(form, ['state'], 2)).toBeUndefined();
    expect(keepParameters('state=x&more=1', ['state'], 2)).toEqual([['state', 'x']]);
  });
});
