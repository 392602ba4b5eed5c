/** The link "Stop these e-mails for 24 hours". How many e-mails strangers cause: test/robustness/login-limits.test.ts. */
import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it, test } from 'vitest';
import { openAccount } from '../../support/account-page.ts';
import { HOUR, MINUTE } from '../../support/clock.ts';
import { formOf, LoginBrowser, requestCode } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { createTestUser } from '../../support/service.ts';

const QUESTION = 'Stop e-mails with codes?';
const DONE = 'You will get no more of these e-mails for now';
const INVALID = 'This link is not valid. Please use the one from the newest e-mail.';

const fixture = await LoginFixture.open();
const { clock, mailbox, service, tenant } = fixture;
afterAll(() => fixture.close());

/** Returns the path of the link in the last e-mail to the address. */
function linkTo(email: string): string {
  const url = new URL(mailbox.mails.findLast(({ to }) => to === email)?.link?.url ?? '');
  return url.pathname + url.search;
}

/** Presses the button behind the link of the e-mail. */
async function mute(email: string, at = service) {
  const browser = new LoginBrowser(at);
  return browser.submit(await browser.open(linkTo(email)), '/login/mute');
}

const countMuted = async () => {
  const [row] = await service.database.sql`select count(*)::int as count from muted_addresses`;
  return row?.count;
};

/** Returns how many e-mails a request for a code in a new browser causes. */
async function countEmails(email: string, from?: string): Promise<number> {
  const before = mailbox.sentTo(email).length;
  const page = await requestCode(service, tenant, email, from);
  expect(page).toMatchObject({ status: 200, heading: 'Check your e-mail', alert: '' });
  return mailbox.sentTo(email).length - before;
}

test('opening the link changes nothing, since scanners of e-mails open links', async () => {
  const { user } = await fixture.askForCode();
  const before = await countMuted();
  const page = await new LoginBrowser(service).open(linkTo(user.email));
  expect(page).toMatchObject({ status: 200, heading: QUESTION });
  expect(page.headers['referrer-policy']).toBe('no-referrer');
  expect(await countMuted()).toBe(before);
  expect(await countEmails(user.email)).toBe(1);
});

test('the button stops the e-mails that strangers cause, for 24 hours, and no page tells them', async () => {
  const { user } = await fixture.askForCode();
  const seen = async () => {
    const { status, body } = await requestCode(service, tenant, user.email);
    const main = /<main.*<\/main>/s.exec(body)?.[0] ?? '';
    return { status, main: main.replace(/"[\w-]{22,}"/g, '') };
  };
  const before = await seen();
  expect((await mute(user.email)).heading).toBe(DONE);
  clock.advance(HOUR);
  expect(await countEmails(user.email)).toBe(0);
  expect(await countEmails(user.email.toUpperCase())).toBe(0);
  expect(await seen()).toEqual(before);
  clock.advance(23 * HOUR - 1_000);
  expect(await countEmails(user.email)).toBe(0);
  clock.advance(1_000);
  expect(await countEmails(user.email)).toBe(1);
});

test('a code that a stranger was sent before is not sent again', async () => {
  const asked = await fixture.askForCode();
  await mute(asked.user.email);
  clock.advance(MINUTE);
  const page = await asked.browser.submit(asked.codePage, '/login/email/again');
  expect(page.alert).toBe('');
  expect(mailbox.sentTo(asked.user.email)).toHaveLength(1);
  expect((await asked.enter(asked.code)).status).toBe(303);
});

describe('browsers and networks where the person has signed in', () => {
  it('still get codes', async () => {
    const from = '203.0.113.77';
    const known = new LoginBrowser(service, { address: from });
    const { user, enter, code } = await fixture.askForCode({ browser: known });
    expect((await enter(code)).status).toBe(303);
    await mute(user.email);
    const again = await fixture.askForCode({ browser: known, user });
    expect((await again.enter(again.code)).status).toBe(303);
    expect(await countEmails(user.email, from)).toBe(1);
    expect(await countEmails(user.email)).toBe(0);
  });

  it('do not mute anything by being known', async () => {
    const { user } = await fixture.askForCode();
    const other = await createTestUser(service);
    await mute(user.email);
    expect(await countEmails(other.email)).toBe(1);
  });
});

test('the button works in every language, and again after it was pressed', async () => {
  const { user } = await fixture.askForCode();
  const browser = new LoginBrowser(service);
  const page = await browser.open(`${linkTo(user.email)}&lang=de`);
  expect(page.body).toContain('<html lang="de"');
  await browser.submit(page, '/login/mute');
  clock.advance(HOUR / 2);
  const shown = await browser.open(linkTo(user.email));
  expect(shown).toMatchObject({ status: 200 });
  expect(shown.forms.filter(({ action }) => action === '/login/mute')).toEqual([]);
  expect(await countMuted()).toBeGreaterThan(0);
});

test('a second button ends it at once, and the first one is back', async () => {
  const { user } = await fixture.askForCode();
  const browser = new LoginBrowser(service);
  const muted = await browser.submit(await browser.open(linkTo(user.email)), '/login/mute');
  expect(await countEmails(user.email)).toBe(0);
  const ended = await browser.submit(muted, '/login/mute/end');
  expect(ended).toMatchObject({ status: 200, heading: QUESTION });
  expect(await countEmails(user.email)).toBe(1);
  expect((await browser.submit(ended, '/login/mute')).heading).toBe(DONE);
});

test('the link works for 7 days', async () => {
  const { user } = await fixture.askForCode();
  const link = linkTo(user.email);
  const browser = new LoginBrowser(service);
  clock.advance(7 * 24 * HOUR - 1_000);
  const page = await browser.open(link);
  expect(page.heading).toBe(QUESTION);
  const before = await countMuted();
  clock.advance(1_000);
  expect(await browser.open(link)).toMatchObject({ status: 404, alert: INVALID });
  expect(await browser.submit(page, '/login/mute')).toMatchObject({ status: 404, alert: INVALID });
  expect(await countMuted()).toBe(before);
});

describe('codes for a change of address', () => {
  const askOf = async (account: Awaited<ReturnType<typeof openAccount>>, email: string) => {
    clock.advance(MINUTE);
    const { browser } = account;
    const page = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
    expect(page).toMatchObject({ status: 200, heading: 'Check your e-mail', alert: '' });
    return mailbox.sentTo(email).length;
  };

  it('that strangers ask for have the link, and stop with the others', async () => {
    const stranger = await openAccount(fixture, await createTestUser(service));
    const email = `${crypto.randomUUID()}@example.com`;
    expect(await askOf(stranger, email)).toBe(1);
    expect((await mute(email)).heading).toBe(DONE);
    expect(await askOf(stranger, email)).toBe(1);
    clock.advance(24 * HOUR);
    expect(await askOf(await openAccount(fixture, await createTestUser(service)), email)).toBe(2);
  });

  it('still reach a browser in which the person has signed in with the address', async () => {
    const user = await createTestUser(service);
    const account = await openAccount(fixture, user);
    await mute(user.email);
    const sent = mailbox.sentTo(user.email).length;
    expect(await askOf(account, user.email)).toBe(sent + 1);
  });
});

describe('a link that Usher has not made', () => {
  const made = async () =>
    new URLSearchParams(linkTo((await fixture.askForCode()).user.email).split('?')[1]).get('t') ?? '';

  it.each<[string, (token: string, other: string) => string]>([
    ['without a token', () => ''],
    ['with a changed address', (token) => (token[0] === 'A' ? 'B' : 'A') + token.slice(1)],
    ['with a changed code', (token) => token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')],
    ['with the code of another address', (token, other) => token.slice(0, 21) + other.slice(21)],
    ['that is longer', (token) => `${token}A`],
    ['of 8 kB', (token) => token.repeat(200)],
    ['of random bytes', () => randomBytes(30).toString('base64url')],
  ])('%s mutes nothing', async (_name, spell) => {
    const token = spell(await made(), await made());
    const before = await countMuted();
    const browser = new LoginBrowser(service);
    const shown = await browser.open(`/login/mute?t=${token}`);
    expect(shown).toMatchObject({ status: 404, alert: INVALID });
    expect(shown.forms.filter(({ action }) => action === '/login/mute')).toEqual([]);
    const form = await browser.open(linkTo((await fixture.askForCode()).user.email));
    const { fields } = formOf(form, '/login/mute');
    expect(await browser.post('/login/mute', { ...fields, t: token })).toMatchObject({ status: 404, alert: INVALID });
    expect(await countMuted()).toBe(before);
  });

  it('with a later end mutes nothing', async () => {
    const token = Buffer.from(await made(), 'base64url');
    token.writeUInt32BE(token.readUInt32BE(16) + 1, 16);
    expect(await new LoginBrowser(service).open(`/login/mute?t=${token.toString('base64url')}`)).toMatchObject({
      status: 404,
      alert: INVALID,
    });
  });

  it('cannot be sent by the page of somebody else', async () => {
    const t = await made();
    const before = await countMuted();
    expect((await new LoginBrowser(service).post('/login/mute', { t })).status).toBe(403);
    expect(await countMuted()).toBe(before);
  });
});

describe('while encryption keys rotate', () => {
  const { secrets } = service.config;
  const startWith = (encryptionKeys: readonly Buffer[]) =>
    fixture.startReplica({ secrets: { ...secrets, encryptionKeys } });

  it('links and mutes of every key work until it is removed', async () => {
    const [key = randomBytes(32)] = secrets.encryptionKeys ?? [];
    const { user } = await fixture.askForCode();
    const old = linkTo(user.email);
    const added = randomBytes(32);
    await using rotated = await startWith([added, key]);
    expect((await mute(user.email, rotated)).heading).toBe(DONE);
    const before = mailbox.sentTo(user.email).length;
    for (const at of [service, rotated]) await requestCode(at, tenant, user.email);
    expect(mailbox.sentTo(user.email)).toHaveLength(before);
    await using removed = await startWith([added]);
    expect((await new LoginBrowser(removed).open(old)).status).toBe(404);
  });
});

test('the database has nothing that tells which address is muted', async () => {
  const { user } = await fixture.askForCode();
  await mute(user.email);
  const rows = await service.database.sql`select * from muted_addresses order by expires_at desc limit 1`;
  expect(rows).toEqual([{ key: expect.any(Buffer), expires_at: new Date(clock.read().getTime() + 24 * HOUR) }]);
  expect(rows[0]?.key).toHaveLength(16);
  expect(rows[0]?.key.toString('latin1').toLowerCase()).not.toContain(user.email.slice(0, 8));
});
