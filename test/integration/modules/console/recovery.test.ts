/** The form "… has lost" of the console, and the page that shows link and digits once. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { enterDigits } from '../../../support/recovery.ts';
import { adminClient, beginSession, createTenant, createTestUser, type TestUser } from '../../../support/service.ts';

const fixture = await ConsoleFixture.open();
afterAll(() => fixture.close());
const { service } = fixture;
const admin = adminClient(service);
const tenant = await createTenant(service);
const ada = await fixture.signIn(OPERATORS.admin);
const REASON = 'Called from a known number.';

async function createSignedIn(): Promise<TestUser> {
  const user = await createTestUser(service, { name: 'Zoë Quinn' });
  await beginSession(service, tenant, user);
  return user;
}

const pathOf = ({ id }: TestUser) => `/users/${id}/recovery`;

describe('the form', () => {
  it('is reached from the page of the user, and has all ticked that the person may have lost', async () => {
    const user = await createSignedIn();
    expect((await ada.open(`/users/${user.id}`)).body).toContain(`href="${pathOf(user)}">Zoë has lost …</a>`);
    const page = await ada.open(pathOf(user));
    expect(page.heading).toBe('Zoë has lost …');
    const ticked = [...page.body.matchAll(/name="removes" value="(\w+)" checked/g)].map(([, value]) => value);
    expect(ticked).toEqual(['ADDRESS', 'WALLET']);
  });

  it('ticks nothing for somebody who is new', async () => {
    const user = await createTestUser(service);
    const page = await ada.open(pathOf(user));
    expect(page.body).not.toContain(' checked');
    expect(page.text).toContain('lets a new person add a first passkey');
  });

  it('shows link and digits once, which work, and lists the link without', async () => {
    const user = await createSignedIn();
    const made = await ada.submit(await ada.open(pathOf(user)), pathOf(user), {
      removes: 'WALLET',
      reason: REASON,
      delayHours: '',
      expiresInMinutes: '60',
    });
    const [url = ''] = /https:\/\/usher\.test\/recover#[\w-]{43}/.exec(made.body) ?? [];
    const [, spokenCode = ''] = />(\d{4} \d{4})</.exec(made.body) ?? [];
    expect(made).toMatchObject({ status: 200, heading: 'Link and code for Zoë Quinn' });
    const opened = await enterDigits(new LoginBrowser(service), { url, spokenCode } as never);
    expect(opened.heading).toBe('This is what changes');
    const again = await ada.open(pathOf(user));
    expect(again.body).not.toContain(url);
    expect(again.body).not.toContain(spokenCode);
    expect(again.text).toContain(OPERATORS.admin);
    const [link] = (await admin.listRecoveryLinks({ userId: user.id })).recoveryLinks;
    const revoked = await ada.submit(again, `${pathOf(user)}/revoke`);
    expect(revoked.text).toContain('The link no longer works.');
    expect((await admin.listRecoveryLinks({ userId: user.id })).recoveryLinks[0]).toMatchObject({
      recoveryLinkId: link?.recoveryLinkId,
      status: 'REVOKED',
    });
  });

  it('keeps what was typed and ticked if it is refused', async () => {
    const user = await createSignedIn();
    const page = await ada.submit(await ada.open(pathOf(user)), pathOf(user), { removes: 'WALLET', reason: '' });
    expect(page.status).toBe(422);
    expect(page.body).toMatch(/value="WALLET" checked/);
    expect(page.body).not.toMatch(/value="ADDRESS" checked/);
    const nothing = await ada.post(pathOf(user), { reason: REASON, expiresInMinutes: '60', delayHours: '' });
    expect(nothing).toMatchObject({ status: 422 });
    expect(nothing.text).toContain('User has signed in');
  });

  it('warns of somebody who has stopped a recovery', async () => {
    const user = await createSignedIn();
    await admin.createRecoveryLink({ userId: user.id, removes: ['WALLET'], reason: REASON });
    await service.database.sql`
      update recovery_links set status = 'STOPPED', ended_at = ${fixture.clock.read()} where user_id = ${user.id}`;
    expect((await ada.open(pathOf(user))).text).toContain('has stopped a recovery');
  });
});

it('opens for a line with the word recover, and closes when the word goes', async () => {
  const user = await createSignedIn();
  const { operatorsFile = '' } = service.config;
  const before = await readFile(operatorsFile, 'utf8');
  const sam = await fixture.signIn(OPERATORS.support);
  expect((await sam.open(pathOf(user))).status).toBe(403);
  expect((await sam.open(`/users/${user.id}`)).body).not.toContain('has lost …');
  await writeFile(
    operatorsFile,
    before.replace(`${OPERATORS.support} support`, `${OPERATORS.support} support recover`),
  );
  await expect.poll(async () => (await sam.open(pathOf(user))).status, { timeout: 15_000 }).toBe(200);
  expect((await sam.open(`/users/${user.id}`)).body).toContain('has lost …');
  await writeFile(operatorsFile, before);
  await expect.poll(async () => (await sam.open(pathOf(user))).status, { timeout: 15_000 }).toBe(403);
}, 60_000);

it('refuses an operator, and says why', async () => {
  const { user } = await admin.getUser({ email: OPERATORS.support });
  const path = `/users/${user?.id}/recovery`;
  const page = await ada.submit(await ada.open(path), path, { reason: REASON });
  expect(page.text).toContain('User is an operator');
});
