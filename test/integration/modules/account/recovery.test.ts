/** The way back by the link of an operator and a spoken code: what it removes, what it opens, and what it refuses. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { parseOperators } from '../../../../src/config/operators.ts';
import type { Mail } from '../../../../src/mail/mail.ts';
import { ENGLISH } from '../../../../src/texts/texts.ts';
import { beginSession, openAccount, tokenOf } from '../../../support/account-page.ts';
import { HOUR, MINUTE } from '../../../support/clock.ts';
import { createDirectory } from '../../../support/directory.ts';
import { dumpTables } from '../../../support/dump.ts';
import { beginLogin, LOGIN_CONFIG, LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import {
  enterDigits,
  type MadeLink,
  makeRecoveryLink,
  openLink,
  reachLastButton,
  recover,
} from '../../../support/recovery.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  createTestWebhook,
  PUBLIC_URL,
  startTestService,
  type TestUser,
} from '../../../support/service.ts';
import { Wallet } from '../../../support/wallet.ts';

const DAY = 24 * HOUR;
const operatorsFile = join(await createDirectory(), 'operators');
const OPERATORS = 'grace@recovery.test support\n';
await writeFile(operatorsFile, OPERATORS);
const config: Parameters<LoginFixture['startReplica']>[0] = {
  loginMethods: ['wallet', 'email', 'passkey'],
  operators: parseOperators(OPERATORS),
  operatorsFile,
};
const fixture = await LoginFixture.open({ config });
const { clock, mailbox, service, tenant } = fixture;
const { sql } = service.database;
const replica = await fixture.startReplica(config);
afterAll(async () => {
  await replica.close();
  await fixture.close();
});
// An admin key can make 20 links a day.
beforeEach(() => sql`delete from rate_limits`);
const admin = adminClient(service);
const strict = await createTenant(service, { requiredAssurance: 'PHISHING_RESISTANT', loginMethods: ['passkey'] });

const DEAD = { status: 404, heading: 'This link cannot be used' };
const newEmail = () => `${randomBytes(6).toString('hex')}@new.test`;
const statusOf = async ({ id }: Pick<TestUser, 'id'>) =>
  (await admin.listRecoveryLinks({ userId: id })).recoveryLinks.map(({ status }) => status);

/** Returns the path of the link in the last e-mail of the kind. */
async function linkFor(address: string, kind: string): Promise<string> {
  const isWanted = (mail: Mail) => mail.to === address && mail.kind === kind && mail.link;
  await expect.poll(() => mailbox.mails.some(isWanted)).toBe(true);
  return (mailbox.mails.findLast(isWanted)?.link?.url ?? '').slice(PUBLIC_URL.length);
}

async function addPasskey(user: Pick<TestUser, 'email'>): Promise<SoftwarePasskey> {
  const { browser, codePage, code } = await fixture.askForCode({ user: user as TestUser });
  const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  const passkey = new SoftwarePasskey();
  expect((await savePasskey({ browser, page }, passkey, PUBLIC_URL)).heading).toBe('Your passkeys');
  return passkey;
}

const isIn = ({ location }: LoginPage) => location?.includes('authToken=') ?? false;

describe('what is dead after the use', () => {
  /** What the user has, or has begun, in the order in which it is tried: the links end what others look for. */
  const THINGS = [
    ...['passkey', 'wallet', 'identity', 'code', 'old address', 'change', 'known place', 'notice', 'passkey link'],
    'undo',
  ];

  async function settle() {
    const wallet = new Wallet();
    const first = await createTestUser(service, { walletAddress: wallet.address });
    const account = await openAccount(fixture, first);
    const email = newEmail();
    const moved = await account.browser.submit(await account.browser.open('/account/email'), '/account/email', {
      email,
    });
    await account.browser.submit(moved, '/account/email/code', { code: mailbox.codeFor(email) });
    const undo = await linkFor(first.email, 'change of address');
    const user = { ...first, email };
    const passkey = await addPasskey(user);
    const passkeyLink = await linkFor(email, 'passkey notice');
    await sql`
      insert into user_identities (issuer, subject, user_id, provider, created_at)
      values ('https://acme.test', ${user.id}, ${user.id}, 'acme', ${clock.read()})`;
    await sendPasskey(await fixture.arrive(), passkey, PUBLIC_URL);
    const notice = await linkFor(email, 'sign-in notice');
    const code = await fixture.askForCode({ user });
    const later = await openAccount(fixture, user);
    const other = newEmail();
    const change = await later.browser.submit(await later.browser.open('/account/email'), '/account/email', {
      email: other,
    });
    const finish = () => later.browser.submit(change, '/account/email/code', { code: mailbox.codeFor(other) });
    return { user, wallet, passkey, code, other, finish, undo, notice, passkeyLink };
  }

  const has = async (table: string, { id }: { id: string }) =>
    (await sql`select from ${sql(table)} where user_id = ${id}`).length > 0;

  async function tryAll({ user, wallet, passkey, code, other, finish, ...links }: Awaited<ReturnType<typeof settle>>) {
    const isDone = async (path: string, action: string) => {
      const browser = new LoginBrowser(service);
      const page = await browser.open(path);
      return (await browser.submit(page, action)).heading !== 'This link does not work any more';
    };
    const isKnown = await has('known_origins', user);
    const tries: Readonly<Record<string, () => Promise<boolean>>> = {
      passkey: async () => isIn(await sendPasskey(await fixture.arrive(), passkey, PUBLIC_URL)),
      wallet: async () => {
        const asked = await fixture.askForMessage(wallet.address);
        return isIn(await asked.send(wallet.sign(asked.message)));
      },
      identity: () => has('user_identities', user),
      code: async () => isIn(await code.enter(code.code, service)),
      change: async () => (await finish()).heading === other,
      'old address': async () => (await adminClient(service).getUser({ userId: user.id })).user?.email === user.email,
      'known place': async () => isKnown,
      undo: () => isDone(links.undo, '/account/undo'),
      notice: () => isDone(links.notice, '/account/sign-ins'),
      'passkey link': () => isDone(links.passkeyLink, '/account/passkey'),
    };
    const dead: string[] = [];
    for (const thing of THINGS) if (!(await tries[thing]?.())) dead.push(thing);
    return dead;
  }

  it.each([
    ['nothing, without a use', undefined, []],
    ['PASSKEYS', ['PASSKEYS'], ['passkey']],
    ['WALLET', ['WALLET'], ['wallet']],
    ['IDENTITIES', ['IDENTITIES'], ['identity']],
    ['SECOND_FACTOR, which nobody has', ['SECOND_FACTOR'], []],
    ['ADDRESS', ['ADDRESS'], ['old address', 'undo', 'notice', 'passkey link']],
    [
      'all of them',
      ['ADDRESS', 'PASSKEYS', 'SECOND_FACTOR', 'WALLET', 'IDENTITIES'],
      ['passkey', 'wallet', 'identity', 'old address', 'undo', 'notice', 'passkey link'],
    ],
  ] as const)('%s', async (_, removes, also) => {
    const settled = await settle();
    clock.advance(MINUTE);
    const made = await makeRecoveryLink(service, settled.user, removes ?? ['PASSKEYS']);
    const changed = removes?.some((removal) => removal === 'ADDRESS') ? { email: newEmail(), mailbox } : undefined;
    if (removes) await recover(new LoginBrowser(replica), made, changed);
    else await reachLastButton(new LoginBrowser(replica), made);
    clock.advance(MINUTE);
    const always = removes ? ['code', 'change', 'known place'] : [];
    const dead = removes ? [...always, ...also] : [];
    expect(await tryAll(settled)).toEqual(THINGS.filter((thing) => dead.includes(thing)));
  });

  it('ends every session, and tells webhooks of that and of the new address, once for each application', async () => {
    const user = await createTestUser(service);
    await createTestWebhook(service, tenant, { ownerId: user.id });
    await sql`update webhooks set event_types = '{*}' where application_id = ${tenant.id}`;
    const sessionId = await beginSession(fixture, user);
    const made = await makeRecoveryLink(service, user, ['ADDRESS']);
    const isLive = async (at = service) =>
      (await clientsOf(at, tenant).sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;
    expect(await isLive()).toBe(true);
    await sql`delete from webhook_messages`;
    await recover(new LoginBrowser(service), made, { email: newEmail(), mailbox });
    expect([await isLive(), await isLive(replica)]).toEqual([false, false]);
    const messages = await sql`select type from webhook_messages where application_id = ${tenant.id} order by type`;
    expect(messages.map(({ type }) => type)).toEqual(['session.revoked', 'user.updated']);
  });
});

describe('the way', () => {
  it('leads to the passkeys, whose first counts in full everywhere, unlike that of an intruder', async () => {
    const user = await createTestUser(service);
    await admin.updateApplication({ applicationId: strict.id, restrictAccess: true });
    await admin.addApplicationUser({ applicationId: strict.id, userId: user.id });
    const intruder = await addPasskey(user);
    clock.advance(HOUR);
    const browser = new LoginBrowser(service);
    const email = newEmail();
    const page = await recover(browser, await makeRecoveryLink(service, user, ['ADDRESS', 'PASSKEYS']), {
      email,
      mailbox,
    });
    expect(page.heading).toBe('Your passkeys');
    const own = new SoftwarePasskey();
    const list = await savePasskey({ browser, page }, own, PUBLIC_URL);
    expect(list.heading).toBe('Your passkeys');
    clock.advance(1);
    expect(isIn(await sendPasskey(await fixture.arrive({ of: strict, browser }), own, PUBLIC_URL))).toBe(true);
    expect(isIn(await sendPasskey(await fixture.arrive({ of: strict }), intruder, PUBLIC_URL))).toBe(false);
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(email);
    // Another one that is added with the mailbox alone is young, as ever.
    clock.advance(MINUTE);
    const young = await addPasskey({ email });
    expect(isIn(await sendPasskey(await fixture.arrive({ of: strict }), young, PUBLIC_URL))).toBe(false);
  });

  it('signs in nowhere, and ends after 10 minutes', async () => {
    const user = await createTestUser(service);
    const browser = new LoginBrowser(service);
    const made = await makeRecoveryLink(service, user);
    await recover(browser, made);
    const path = `/login/passkeys?intent=${made.recoveryLinkId}`;
    expect((await browser.at(replica).open(path)).heading).toBe('Your passkeys');
    expect((await new LoginBrowser(service).open(path)).heading).not.toBe('Your passkeys');
    const signedOut = { heading: 'Your account', location: undefined };
    expect(await browser.open(`/login?intent=${made.recoveryLinkId}`)).toMatchObject(signedOut);
    expect(await browser.open('/account')).toMatchObject(signedOut);
    const { page } = await fixture.arrive({ browser });
    expect(page.heading).toBe('Sign in to Test application');
    clock.advance(10 * MINUTE);
    expect((await browser.open(path)).heading).not.toBe('Your passkeys');
    expect((await admin.listUserSessions({ userId: user.id })).sessions).toEqual([]);
  });

  it('begins with a link that works from its hour on, and ends with it', async () => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user, ['PASSKEYS'], { delayHours: 24 });
    const browser = new LoginBrowser(service);
    const early = await openLink(browser, made);
    const hour = ENGLISH.moment(new Date(clock.read().getTime() + DAY));
    expect(early.body).toContain(hour);
    expect(early.forms).toEqual([]);
    const token = tokenOf(await browser.open('/recover'));
    const link = made.url.slice(-43);
    const direct = await browser.post('/recover/use', { token, link, code: made.spokenCode });
    expect(direct.body).toContain(hour);
    expect(await statusOf(user)).toEqual(['OPEN']);
    clock.advance(DAY);
    expect((await openLink(browser, made)).heading).toBe('Back into your account');
    clock.advance(HOUR);
    expect(await openLink(browser, made)).toMatchObject(DEAD);
  });

  it('opens the same page after a double click', async () => {
    const user = await createTestUser(service);
    const browser = new LoginBrowser(service);
    const last = await reachLastButton(browser, await makeRecoveryLink(service, user));
    const [one, two] = await Promise.all([1, 2].map(() => browser.submit(last, '/recover/use')));
    expect([one?.heading, two?.heading]).toEqual(['Your passkeys', 'Your passkeys']);
    // A copy of the form elsewhere is a used link.
    const [{ fields } = { fields: {} }] = last.forms;
    const thief = new LoginBrowser(service);
    const token = tokenOf(await thief.open('/recover'));
    expect(await thief.post('/recover/use', { ...fields, token })).toMatchObject(DEAD);
  });

  it('enrols where no e-mails are sent and passkeys are the only way', async () => {
    const only = { ...LOGIN_CONFIG, loginMethods: ['passkey'] as const };
    await using place = await startTestService({ clock: clock.read, sendMail: undefined, config: only });
    const user = await createTestUser(place, { walletAddress: '' });
    const made = await makeRecoveryLink(place, user, []);
    const browser = new LoginBrowser(place);
    const page = await recover(browser, made);
    expect(page.heading).toBe('Your passkeys');
    const passkey = new SoftwarePasskey();
    await savePasskey({ browser, page }, passkey, PUBLIC_URL);
    clock.advance(1);
    const elsewhere = new LoginBrowser(place);
    const choice = await elsewhere.open((await beginLogin(place, await createTenant(place))).path);
    expect(isIn(await sendPasskey({ browser: elsewhere, page: choice }, passkey, PUBLIC_URL))).toBe(true);
    await expect(makeRecoveryLink(place, user, [])).rejects.toThrow('User has signed in');
    await expect(makeRecoveryLink(place, user, ['ADDRESS'])).rejects.toThrow('Mail not configured');
  });

  it('is in the audit log by its maker, and in the download without', async () => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user);
    clock.advance(1);
    await recover(new LoginBrowser(service), made);
    const { auditEvents } = await admin.listAuditEvents({ resource: user.id });
    expect(auditEvents[0]).toMatchObject({
      action: 'RecoveryService/Use',
      actorType: 'login_page',
      onBehalfBy: 'admin',
    });
    clock.advance(1);
    const { browser } = await openAccount(fixture, user);
    const { recoveryLinks } = JSON.parse((await browser.open('/account/data')).body);
    const instant = expect.any(String);
    const times = { createdAt: instant, usableAt: instant, expiresAt: instant, endedAt: instant };
    expect(recoveryLinks).toEqual([{ ...times, removes: ['PASSKEYS'], status: 'USED' }]);
  });

  it('tells the former and the new address what was removed', async () => {
    const user = await createTestUser(service);
    const email = newEmail();
    const made = await makeRecoveryLink(service, user, ['ADDRESS', 'PASSKEYS', 'IDENTITIES']);
    await recover(new LoginBrowser(service), made, { email, mailbox });
    const noticesTo = (address: string) =>
      mailbox.mails.filter(({ to, subject: [key] }) => to === address && key === 'mail.recovered.subject');
    await expect.poll(() => [user.email, email].map((address) => noticesTo(address).length)).toEqual([1, 1]);
    const [{ paragraphs } = { paragraphs: [] }] = noticesTo(user.email);
    expect(paragraphs[0]?.[1]?.removed).toBe('e-mail address, passkeys, and accounts at other sites');
    // The former mailbox may be somebody else's.
    expect(JSON.stringify(noticesTo(user.email))).not.toContain(email);
  });
});

describe('nothing happens', () => {
  it('when previews and scanners open the link, prefetch it, or post without our cookie', async () => {
    // Its clock stands still, so that no job has anything to do meanwhile.
    await using still = await LoginFixture.open({ config });
    const user = await createTestUser(still.service);
    const made = await makeRecoveryLink(still.service, user);
    await expect.poll(() => still.mailbox.mails.some(({ to }) => to === user.email)).toBe(true);
    const { rate_limits: _, notices: __, ...before } = await dumpTables(still.service.database);
    for (const path of [
      '/recover',
      '/recover/code',
      '/recover/address',
      '/recover/use',
      `/recover?link=${made.url.slice(-43)}`,
    ]) {
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        await new LoginBrowser(still.service).open(path, method, { 'sec-purpose': 'prefetch' });
      }
      const fields = { link: made.url.slice(-43), code: made.spokenCode };
      expect((await new LoginBrowser(still.service).post(path, fields)).status).toBe(403);
    }
    const { rate_limits: ___, notices: ____, ...after } = await dumpTables(still.service.database);
    expect(after).toEqual(before);
    await enterDigits(new LoginBrowser(still.service), made);
    const { recoveryLinks } = await adminClient(still.service).listRecoveryLinks({ userId: user.id });
    expect(recoveryLinks.map(({ status }) => status)).toEqual(['OPEN']);
  });

  it('when the owner of the mailbox has stopped it, of which the next link tells for 30 days', async () => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user, ['ADDRESS']);
    const path = await linkFor(user.email, 'recovery notice');
    const browser = new LoginBrowser(service);
    const question = await browser.open(path);
    expect(question.heading).toBe('Was this not you?');
    expect(await statusOf(user)).toEqual(['OPEN']);
    expect((await browser.submit(question, '/account/recovery')).heading).toBe('The recovery is stopped');
    expect((await browser.submit(question, '/account/recovery')).heading).toBe('This link does not work any more');
    expect(await openLink(browser, made)).toMatchObject(DEAD);
    expect(await statusOf(user)).toEqual(['STOPPED']);
    clock.advance(30 * DAY - MINUTE);
    expect((await makeRecoveryLink(service, user)).stoppedBefore).toBe(true);
    clock.advance(MINUTE);
    expect((await makeRecoveryLink(service, user)).stoppedBefore).toBe(false);
    clock.advance(8 * DAY);
    expect((await browser.open(path)).heading).toBe('This link does not work any more');
  });

  type Change = (user: TestUser, made: MadeLink) => Promise<unknown>;
  it.each<[string, Change]>([
    ['the link was revoked', (_, { recoveryLinkId }) => admin.revokeRecoveryLink({ recoveryLinkId })],
    ['another link was made', (user) => makeRecoveryLink(service, user)],
    ['the user was deactivated', ({ id: userId }) => admin.deactivateUser({ userId })],
    ['the user was erased', ({ id: userId }) => admin.eraseUser({ userId })],
    ['the user has another address', ({ id: userId }) => admin.updateUser({ userId, email: newEmail() })],
    ['the user has become an operator', ({ email }) => writeFile(operatorsFile, `${OPERATORS}${email} viewer\n`)],
    ['the link has expired', async () => clock.advance(2 * HOUR)],
  ])('when %s before the last button', async (_, change) => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user);
    const browser = new LoginBrowser(replica);
    const last = await reachLastButton(browser, made);
    await change(user, made);
    const passkeys = await sql`select passkey_removed_at from users where id = ${user.id}`;
    expect(await browser.submit(last, '/recover/use')).toMatchObject(DEAD);
    expect(await openLink(new LoginBrowser(replica), made)).toMatchObject(DEAD);
    expect(await sql`select passkey_removed_at from users where id = ${user.id}`).toEqual(passkeys);
    await writeFile(operatorsFile, OPERATORS);
  });

  it('when the new address is that of an operator, or of somebody else', async () => {
    const user = await createTestUser(service);
    const neighbor = await createTestUser(service);
    const made = await makeRecoveryLink(service, user, ['ADDRESS']);
    for (const email of ['grace@recovery.test', neighbor.email]) {
      const browser = new LoginBrowser(service);
      const codePage = await browser.submit(await enterDigits(browser, made), '/recover/address', { email });
      expect(codePage.heading).toBe('Check your e-mail');
      expect(mailbox.sentTo(email)).toEqual([]);
      expect((await browser.submit(codePage, '/recover/address/code', { proof: '123456' })).alert).not.toBe('');
    }
  });
});

describe('the spoken code', () => {
  it('may be wrong four times, from any networks, and the fifth ends the link', async () => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user);
    const wrong = made.spokenCode === '0000 0000' ? '00000001' : '00000000';
    for (const left of [4, 3, 2, 1]) {
      const page = await enterDigits(new LoginBrowser(left % 2 ? service : replica), made, wrong);
      expect(page).toMatchObject({ status: 422, alert: `Those are not the digits. Tries left: ${left}.` });
    }
    const browser = new LoginBrowser(service);
    const digits = await openLink(browser, made);
    for (const code of ['', '1234567', 'none']) {
      expect((await browser.submit(digits, '/recover/code', { code })).alert).toContain('all of the eight digits');
    }
    expect(await browser.submit(digits, '/recover/code', { code: wrong })).toMatchObject(DEAD);
    expect(await browser.submit(digits, '/recover/code', { code: made.spokenCode })).toMatchObject(DEAD);
    expect(await statusOf(user)).toEqual(['FAILED']);
    const { auditEvents } = await admin.listAuditEvents({ resource: user.id, action: 'RecoveryService/Fail' });
    expect(auditEvents).toHaveLength(1);
    const isNotice = ({ to, subject: [key] }: Mail) => to === user.email && key === 'mail.recoveryFailed.subject';
    await expect.poll(() => mailbox.mails.some(isNotice)).toBe(true);
  });

  it('is guessed five times also by many at once', async () => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user);
    const wrong = made.spokenCode === '0000 0000' ? '00000001' : '00000000';
    const pages = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        enterDigits(new LoginBrowser(index % 2 ? service : replica), made, wrong),
      ),
    );
    expect(pages.filter(({ status }) => status === 422)).toHaveLength(4);
    expect(await statusOf(user)).toEqual(['FAILED']);
  });

  it('is read in the digits of other scripts', async () => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user);
    const arabic = made.spokenCode.replace(/\d/g, (digit) => String.fromCharCode(0x0660 + Number(digit)));
    const page = await enterDigits(new LoginBrowser(service, { languages: 'ar' }), made, arabic);
    expect(page).toMatchObject({ status: 200, heading: 'هذا ما سيتغير' });
  });

  it('and the token have ten tries in a network, and right ones count for none', async () => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user);
    const browser = new LoginBrowser(service);
    for (let time = 1; time <= 12; time++) expect((await openLink(browser, made)).status).toBe(200);
    const other = { url: `${PUBLIC_URL}/recover#${'x'.repeat(43)}` };
    for (let time = 1; time <= 10; time++) expect(await openLink(browser, other)).toMatchObject(DEAD);
    expect((await openLink(browser, made)).status).toBe(429);
    expect((await openLink(new LoginBrowser(service), made)).status).toBe(200);
    clock.advance(6 * MINUTE);
    expect((await openLink(browser, made)).status).toBe(200);
  });

  it('and its link outlive a new encryption key, and end with the old one', async () => {
    const user = await createTestUser(service);
    const made = await makeRecoveryLink(service, user);
    const old = service.config.secrets.encryptionKeys ?? [];
    const withKeys = (encryptionKeys: readonly Buffer[]) =>
      fixture.startReplica({ ...config, secrets: { ...service.config.secrets, encryptionKeys } });
    const added = randomBytes(32);
    await using rotated = await withKeys([added, ...old]);
    expect((await enterDigits(new LoginBrowser(rotated), made)).heading).toBe('This is what changes');
    await using without = await withKeys([added]);
    expect(await openLink(new LoginBrowser(without), made)).toMatchObject(DEAD);
  });
});
