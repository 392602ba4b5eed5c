/** The passkeys and remembered sign-ins of a person on the account page. */
import { afterAll, expect, it } from 'vitest';
import { openAccount } from '../../../support/account-page.ts';
import { LoginBrowser, textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { createTestUser, PUBLIC_URL, type TestUser } from '../../../support/service.ts';

const fixture = await LoginFixture.open({ config: { loginMethods: ['wallet', 'email', 'passkey'] } });
const { service } = fixture;
const { sql } = service.database;
afterAll(() => fixture.close());

/** Saves a passkey after a sign-in by code. */
async function addPasskey(user: TestUser, passkey: SoftwarePasskey): Promise<void> {
  const { browser, codePage, code } = await fixture.askForCode({ user });
  const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  await savePasskey({ browser, page }, passkey, PUBLIC_URL);
}

it('a person sees the own passkeys, and has a way to manage them', async () => {
  const [user, other] = [await createTestUser(service), await createTestUser(service)];
  await addPasskey(user, new SoftwarePasskey());
  await addPasskey(user, new SoftwarePasskey());
  await addPasskey(other, new SoftwarePasskey());
  const [, second] = await sql`select id from passkeys where user_id = ${user.id} order by created_at`;
  await sql`update passkeys set name = 'Synced <b>' where user_id = ${user.id} and id <> ${second?.id}`;
  await sql`
    update passkeys set name = 'Local', is_backed_up = false, last_used_at = '2026-03-05T12:00Z' where id = ${second?.id}`;
  await sql`update passkeys set name = 'Foreign' where user_id = ${other.id}`;
  const { page } = await openAccount(fixture, user);
  const items = [...page.body.matchAll(/<strong><bdi>(?:Synced|Local|Foreign).*?<\/div>/gs)].map(([item]) =>
    textOf(item),
  );
  expect(items).toEqual([
    expect.stringMatching(/^Synced <b> Synced.*Not used yet/s),
    expect.stringMatching(/^Local This device only.*Last used: .*5.*2026/s),
  ]);
  const manage = page.forms.filter(({ fields }) => fields.prompt === 'PASSKEYS');
  // One for all, and one beside each, which names its passkey.
  expect(manage.map(({ action }) => action)).toEqual(['/account/login', '/account/login', '/account/login']);
  expect(page.body).toContain('Change<span class="hide"> <bdi>Local</bdi></span>');
});

it('shows none, and no way to them, where nobody can sign in with one', async () => {
  await using replica = await fixture.startReplica();
  const user = await createTestUser(service);
  await addPasskey(user, new SoftwarePasskey());
  const { page } = await openAccount(fixture, user, new LoginBrowser(replica));
  expect(page.body).not.toMatch(/passkey/i);
  expect(page.forms.map(({ action }) => action)).not.toContain('/account/login');
});

it('are in the file of what is stored, without keys and secrets', async () => {
  const user = await createTestUser(service);
  await addPasskey(user, new SoftwarePasskey());
  const { browser } = await openAccount(fixture, user);
  const { body } = await browser.open('/account/data');
  const [stored] = await sql`select public_key, credential_id from passkeys where user_id = ${user.id}`;
  expect(JSON.parse(body)).toMatchObject({
    passkeys: [{ name: expect.any(String), credentialId: stored?.credential_id.toString('base64url') }],
    rememberedSignIns: 1,
  });
  for (const encoding of ['base64', 'base64url', 'hex'] as const) {
    expect(body).not.toContain(stored?.public_key.toString(encoding));
  }
  expect(body).not.toMatch(/public|digest/i);
});
