/** `email_verified`: whether the user has proved to have the address. */
import { decodeJwt } from 'jose';
import { afterAll, expect, it } from 'vitest';
import { LoginBrowser } from '../../../../support/login-browser.ts';
import { LoginFixture } from '../../../../support/login-fixture.ts';
import { beginOidcLogin, CODE_VERIFIER, createRsaJwk, parametersOf } from '../../../../support/oidc.ts';
import { getUserinfo, redeem, refresh } from '../../../../support/oidc-client.ts';
import { adminClient, createTenant } from '../../../../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { service } = fixture;
afterAll(() => fixture.close());
const admin = adminClient(service);
const of = await createTenant(service, { openIdConnect: true, allowSignUp: true });

async function begin() {
  const browser = new LoginBrowser(service);
  return { of, browser, login: await beginOidcLogin(browser, of) };
}

/** Returns the claims of the ID token that the application gets for the answer. */
async function claimsOf({ location }: { location: string | undefined }) {
  const { code = '' } = parametersOf(location);
  const { body } = await redeem(service, of, code, { verifier: CODE_VERIFIER });
  const { email, email_verified } = decodeJwt(body.id_token ?? '');
  return { email, email_verified };
}

/** Returns the claims of a user whom another page has signed in. */
async function claimsOfUser(userId: string) {
  const { loginIntentId } = (await begin()).login;
  const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId });
  return claimsOf({ location: redirectUrl });
}

it('is true from the first code on, until the address changes', async () => {
  const asked = await fixture.askForCode(await begin());
  const { id: userId, email } = asked.user;
  expect(await claimsOfUser(userId)).toEqual({ email, email_verified: undefined });
  expect(await claimsOf(await asked.enter(asked.code))).toEqual({ email, email_verified: true });
  expect(await claimsOfUser(userId)).toEqual({ email, email_verified: true });
  await admin.updateUser({ userId, name: 'Ada', email: email.toUpperCase() });
  const [row] = await service.database.sql`select email_verified_at from users where id = ${userId}`;
  expect(row?.email_verified_at).not.toBeNull();
  await admin.updateUser({ userId, email: `new.${email}` });
  const [changed] = await service.database.sql`select email_verified_at from users where id = ${userId}`;
  expect(changed?.email_verified_at).toBeNull();
});

it('is that of the address which is shown', async () => {
  const asked = await fixture.askForCode(await begin());
  const { id: userId, email } = asked.user;
  const { location } = await asked.enter(asked.code);
  const { body } = await redeem(service, of, parametersOf(location).code ?? '', { verifier: CODE_VERIFIER });
  await admin.updateUser({ userId, email: `new.${email}` });
  // The session keeps the address of the sign-in, which was proved.
  expect((await getUserinfo(service, body.access_token)).body).toEqual({ sub: userId, email: `new.${email}` });
  const { body: refreshed } = await refresh(service, of, body.refresh_token);
  const claims = decodeJwt(refreshed.id_token ?? '');
  expect([claims.email, claims.email_verified]).toEqual([`new.${email}`, undefined]);
});

it('is true for whoever signs up with a code', async () => {
  const { browser, login } = await begin();
  const email = 'grace@example.com';
  const page = await browser.open(login.path);
  const codePage = await browser.submit(page, '/login/email', { email });
  const answer = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(email) });
  expect(await claimsOf(answer)).toEqual({ email, email_verified: true });
});

it('is forgotten when the user is erased', async () => {
  const asked = await fixture.askForCode(await begin());
  await asked.enter(asked.code);
  await admin.eraseUser({ userId: asked.user.id });
  const [row] = await service.database.sql`select email_verified_at from users where id = ${asked.user.id}`;
  expect(row).toEqual({ email_verified_at: null });
});
