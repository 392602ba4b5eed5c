/** The form "… has lost" of the console, and the page that shows link and digits once. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../../src/database/schema/table-facts.ts';
import { renderMoment } from '../../../../src/modules/console/parts/moment.ts';
import { ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { createSampleWays } from '../../../support/console-samples.ts';
import { LoginBrowser, textOf } from '../../../support/login-browser.ts';
import { enterDigits } from '../../../support/recovery.ts';
import { adminClient, beginSession, createTenant, createTestUser, type TestUser } from '../../../support/service.ts';

const fixture = await ConsoleFixture.open();
afterAll(() => fixture.close());
const { service } = fixture;
const admin = adminClient(service);
const { sql } = service.database;
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

  it.each([
    ['warns', 'STOPPED', 0, true],
    ['warns', 'STOPPED', 30 * DAY_MS - 1, true],
    ['does not warn', 'STOPPED', 30 * DAY_MS, false],
    ['does not warn', 'REVOKED', 0, false],
  ])('%s of a recovery that was %s %i ms ago', async (_, status, ageMs, warns) => {
    const user = await createSignedIn();
    await admin.createRecoveryLink({ userId: user.id, removes: ['WALLET'], reason: REASON });
    const endedAt = new Date(fixture.clock.read().getTime() - ageMs);
    await sql`update recovery_links set status = ${status}, ended_at = ${endedAt} where user_id = ${user.id}`;
    expect((await ada.open(pathOf(user))).text.includes('has stopped a recovery')).toBe(warns);
  });

  it.each([
    ['a name', { name: ' Zoë  Quinn ' }, 'Zoë has lost …'],
    ['no name', {}, undefined],
  ])('calls somebody with %s', async (_, fields, heading) => {
    const user = await createTestUser(service, fields);
    expect((await ada.open(pathOf(user))).heading).toBe(heading ?? `${user.email} has lost …`);
  });

  it('asks for what the user has, and ticks it for somebody who has a passkey already', async () => {
    const user = await createTestUser(service, { walletAddress: '' });
    const asked = async () =>
      [...(await ada.open(pathOf(user))).body.matchAll(/name="removes" value="(\w+)"( checked)?/g)].map(
        ([, value, checked]) => [value, checked !== undefined],
      );
    expect(await asked()).toEqual([['ADDRESS', false]]);
    await createSampleWays(service, user.id);
    expect((await ada.open(pathOf(user))).text).toContain('The accounts at providersacme');
    expect(await asked()).toEqual([
      ['ADDRESS', true],
      ['PASSKEYS', true],
      ['IDENTITIES', true],
    ]);
  });
});

it.each([
  ['', 24],
  ['0', 0],
  ['72', 72],
])('a link works after the delay %j, and the page says from when on', async (delayHours, hours) => {
  const user = await createSignedIn();
  await admin.createRecoveryLink({ userId: user.id, removes: ['WALLET'], reason: REASON, delayHours: 48 });
  fixture.clock.advance(1_000);
  const form = { removes: 'ADDRESS', reason: REASON, delayHours, expiresInMinutes: '60' };
  const made = await ada.submit(await ada.open(pathOf(user)), pathOf(user), form);
  const from = new Date(fixture.clock.read().getTime() + hours * 60 * 60_000);
  expect(made.text).toContain(`It works from ${textOf(renderMoment(from).text).replaceAll('\u00a0', ' ')} to `);
});

it('lists twenty links with their makers, what they remove and what became of them', async () => {
  const user = await createSignedIn();
  await admin.createRecoveryLink({ userId: user.id, removes: ['WALLET', 'PASSKEYS'], reason: REASON });
  await sql`
    insert into recovery_links (id, user_id, digest, code_hmac, address_key, removes, created_by, created_at, usable_at,
      expires_at, status, ended_at)
    select gen_random_uuid(), user_id, n::text::bytea, '', '', '{}', 'deploy', now() - n * interval '1 hour', now(), now(),
      (array['STOPPED', 'FAILED', 'USED'])[n % 3 + 1], now()
    from recovery_links, generate_series(1, 20) n where user_id = ${user.id}`;
  const { rows, body } = await ada.open(pathOf(user));
  expect(rows).toHaveLength(20);
  expect(rows[0]?.slice(1, 4)).toEqual(['key admin', 'Wallet, passkeys', 'Open']);
  expect(rows[1]?.slice(1)).toEqual(['key deploy', 'Nothing: first sign-in', 'Wrong digits', '']);
  const tags = new Set(
    [...body.matchAll(/<td><span class="(tag[^"]*)">([^<]*)/g)].map(([, kind, text]) => `${kind}: ${text}`),
  );
  expect([...tags].sort()).toEqual(['tag warn: Stopped', 'tag warn: Wrong digits', 'tag: Open', 'tag: Used']);
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
