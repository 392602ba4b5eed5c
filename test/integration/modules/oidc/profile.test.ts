/** What clients learn of a user: what holds now, although a session keeps the profile of its beginning. */
import { decodeJwt } from 'jose';
import { afterAll, expect, test } from 'vitest';
import { createRsaJwk } from '../../../support/oidc.ts';
import { createOidcTenant, getUserinfo, redeem, refresh, signInForCode } from '../../../support/oidc-client.ts';
import { adminClient, clientsOf, createTestUser, logIn, startTestService } from '../../../support/service.ts';

const service = await startTestService({ oidcSigningKeys: [createRsaJwk()] });
afterAll(service.close);
const admin = adminClient(service);
const tenant = await createOidcTenant(service);
await admin.updateApplication({ applicationId: tenant.id, attributeClaims: ['plan'] });
const SCOPE = 'openid profile email';

const claimsOf = (idToken: string | undefined) => {
  const { email, email_verified, name, picture, plan } = decodeJwt(idToken ?? '');
  return { email, email_verified, name, picture, plan };
};

const signIn = async (user: { id: string }) =>
  (await redeem(service, tenant, await signInForCode(service, tenant, user, { scope: SCOPE }))).body;

test('follows the user: a new sign-in, a refresh and userinfo have what holds now', async () => {
  const user = await createTestUser(service, { name: 'Ada' });
  const first = await signIn(user);
  const before = { email: user.email, name: 'Ada', email_verified: undefined, picture: undefined, plan: undefined };
  expect(claimsOf(first.id_token)).toEqual(before);
  const now = { email: `new.${user.email}`, name: 'Ada King', picture: 'https://app.test/ada.png', plan: 'pro' };
  await admin.updateUser({
    ...{ userId: user.id, email: now.email, name: now.name, profileImage: now.picture },
    attributes: { plan: 'pro', secret: 'x' },
  });
  await service.database.sql`update users set email_verified_at = now() where id = ${user.id}`;
  const expected = { ...now, email_verified: true };
  const again = await signIn(user);
  expect(claimsOf(again.id_token)).toEqual(expected);
  for (const { refresh_token } of [first, again])
    expect(claimsOf((await refresh(service, tenant, refresh_token)).body.id_token)).toEqual(expected);
  // One that has not asked before: an answer may be five seconds old.
  const { database, config: like } = service;
  await using replica = await startTestService({ database, like });
  for (const { access_token } of [first, again])
    expect((await getUserinfo(replica, access_token)).body).toMatchObject({ sub: user.id, ...expected });
});

test('has a username: the one that an operator has set, or the part of the address before the @', async () => {
  const user = await createTestUser(service);
  const claims = async (scope = SCOPE) => {
    const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user, { scope }));
    const { database, config: like } = service;
    await using replica = await startTestService({ database, like });
    const shown = (await getUserinfo(replica, body.access_token)).body;
    const refreshed = decodeJwt((await refresh(service, tenant, body.refresh_token)).body.id_token ?? '');
    return [decodeJwt(body.id_token ?? ''), refreshed, shown].map(({ name, preferred_username, plan }) => ({
      ...{ name, preferred_username, plan },
    }));
  };
  const [local = ''] = user.email.split('@');
  expect(await claims()).toEqual(Array(3).fill({ name: local, preferred_username: local }));
  await admin.updateUser({ userId: user.id, attributes: { preferred_username: 'ada lovelace', plan: 'pro' } });
  expect(await claims()).toEqual(
    Array(3).fill({ name: 'ada lovelace', preferred_username: 'ada lovelace', plan: 'pro' }),
  );
  // It is a name for OpenID Connect alone.
  const authToken = await logIn(service, tenant, user);
  expect((await clientsOf(service, tenant).auth.exchangeToken({ authToken })).user?.name).toBeUndefined();
  await admin.updateUser({ userId: user.id, name: 'Ada' });
  expect(await claims()).toEqual(Array(3).fill({ name: 'Ada', preferred_username: 'ada lovelace', plan: 'pro' }));
  expect(await claims('openid email')).toEqual(Array(3).fill({}));
});

test.each([[''], ['a\nb'], ['x'.repeat(256)], [['a']], [1], [true]])(
  'an operator cannot set the username %j',
  async (preferred_username) => {
    const user = await createTestUser(service);
    await expect(admin.updateUser({ userId: user.id, attributes: { preferred_username } })).rejects.toThrow();
  },
);

test('of a session stays as it began, as ExchangeToken documents', async () => {
  const user = await createTestUser(service, { name: 'Ada' });
  const exchange = async () =>
    clientsOf(service, tenant).auth.exchangeToken({ authToken: await logIn(service, tenant, user) });
  const { user: shown, session } = await exchange();
  expect(shown?.name).toBe('Ada');
  await admin.updateUser({ userId: user.id, name: 'Ada King' });
  expect(await exchange()).toMatchObject({ user: shown, session: { id: session?.id } });
});
