/** Invitations to an application: an e-mail without a secret, which the first sign-in accepts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, describe, expect, it } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../src/domain/audit/audit-event.ts';
import type { ApplicationCall } from '../../../src/domain/core/call.ts';
import { expireInvitations } from '../../../src/domain/invitations/expire-invitations.ts';
import { inviteUser } from '../../../src/domain/invitations/invite-user.ts';
import { deriveLoginCodeKeys } from '../../../src/domain/login/login-code.ts';
import { HOUR } from '../../support/clock.ts';
import { LAYOUT } from '../../support/database.ts';
import { LoginBrowser } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestGroup,
  createTestUser,
  createTestWebhook,
  PUBLIC_URL,
  type Tenant,
} from '../../support/service.ts';
import { Wallet } from '../../support/wallet.ts';

const DAY = 24 * HOUR;

const fixture = await LoginFixture.open({ start: new Date() });
const { service, mailbox, clock } = fixture;
const admin = adminClient(service);
const { sql } = service.database;
const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await fixture.close();
});

const newEmail = () => `${randomUUID()}@example.com`;

async function createInviter(): Promise<Tenant> {
  const created = await createTenant(service);
  const initiateLoginUri = 'https://app.test/start?from=mail';
  await admin.updateApplication({ applicationId: created.id, allowInvitations: true, initiateLoginUri });
  return created;
}

const tenant = await createInviter();

const usersOf = (of = tenant) => clientsOf(service, of).users;

async function invite(email: string, of = tenant) {
  const { invitation } = await usersOf(of).inviteUser({ email });
  if (!invitation) throw new Error('There is no invitation');
  return invitation;
}

const listed = async (of = tenant) => (await usersOf(of).listInvitations({})).invitations;
const foundBy = async (email: string, of = tenant) => (await listed(of)).find((each) => each.email === email);

const mailsTo = (email: string) =>
  mailbox.mails.filter(({ to, kind }) => to === email && kind === 'invitation').map(({ language }) => language.tag);

/** Waits until the invitation of another address has arrived: those from before have then, too. */
async function settleMails(): Promise<void> {
  const last = newEmail();
  const settling = await createInviter();
  await invite(last, settling);
  await expect.poll(() => mailsTo(last)).toEqual(['en']);
}

/** Signs in with a code, and returns where the browser goes. */
async function signIn(email: string, of = tenant) {
  const { browser, page } = await fixture.arrive({ of });
  const codePage = await browser.submit(page, '/login/email', { email });
  const { location = '' } = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
  return location;
}

const accept = async (email: string, of = tenant) => expect(await signIn(email, of)).toContain('authToken=');

const liveUsers = (email: string) => sql`select id, name from users where email = ${email} and deleted_at is null`;
const isAdded = async (userId: string, of = tenant) =>
  (await sql`select from added_users where application_id = ${of.id} and user_id = ${userId}`).length === 1;

function callAt(now: Date, action = 'test') {
  return { now, run: withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action, now }) };
}

/** Runs the expiry job as if it were then. */
async function expireAt(now: Date): Promise<void> {
  while (await expireInvitations(callAt(now)));
}

const inDays = (days: number) => new Date(clock.read().getTime() + days * DAY);

async function reasonOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(() => undefined, ConnectError.from);
  return `${Code[error?.code ?? 0]}: ${error?.rawMessage}`;
}

describe('an invitation', () => {
  it('sends an e-mail whose link starts a login with the address', async () => {
    const email = newEmail();
    const { invitation } = await usersOf().inviteUser({ email, name: 'Grace', locale: 'de-AT en', expiresInDays: 3 });
    expect([invitation?.email, invitation?.acceptedAt, invitation?.userId]).toEqual([email, undefined, undefined]);
    const { createdAt, expiresAt } = invitation ?? {};
    expect(Number(expiresAt?.seconds) - Number(createdAt?.seconds)).toBe((3 * DAY) / 1_000);
    await expect.poll(() => mailsTo(email)).toEqual(['de']);
    const mail = mailbox.mails.find(({ to }) => to === email);
    expect(mail?.action?.url).toBe(`https://app.test/start?from=mail#email=${encodeURIComponent(email)}`);
    expect(mail?.application.name).toBe(tenant.name);
    expect(await liveUsers(email)).toMatchObject([{ name: 'Grace' }]);
    expect(await foundBy(email)).toEqual(invitation);
  });

  it('is accepted by the first sign-in, which the application then learns of', async () => {
    const email = newEmail();
    const { group } = await admin.createGroup({ name: `g-${randomUUID()}` });
    const groupIds = [group?.groupId ?? ''];
    const { invitationId } = (await admin.inviteUser({ applicationId: tenant.id, email, groupIds })).invitation ?? {};
    expect((await admin.listGroupMembers({ groupId: groupIds[0] ?? '' })).members).toEqual([]);
    await accept(email);
    const [user] = await liveUsers(email);
    const found = await foundBy(email);
    expect(found).toMatchObject({ invitationId, userId: user?.id, acceptedAt: expect.anything() });
    expect((await admin.listGroupMembers({ groupId: groupIds[0] ?? '' })).members).toMatchObject([
      { userId: user?.id },
    ]);
    await accept(email);
    expect(await foundBy(email)).toEqual(found);
  });

  it('brings nobody into more than 100 groups', async () => {
    const user = await createTestUser(service);
    await sql`
      with made as (
        insert into groups (id, name, created_at) select gen_random_uuid(), ${`${user.id.slice(0, 8)}-`} || n, now()
        from generate_series(1, 99) n returning id
      ) insert into group_members (group_id, user_id, added_at) select id, ${user.id}, now() from made`;
    const groups = [await createTestGroup(service), await createTestGroup(service)];
    const groupIds = groups.map(({ groupId }) => groupId);
    await admin.inviteUser({ applicationId: tenant.id, email: user.email, groupIds });
    await accept(user.email);
    const [{ count } = { count: 0 }] = await sql`
      select count(*)::int as count from group_members where user_id = ${user.id}`;
    expect(count).toBe(100);
  });

  it('tells the applications that see a group which it brings', async () => {
    const [other, user] = [await createTenant(service), await createTestUser(service)];
    await beginSession(service, other, user);
    const { groupId } = await createTestGroup(service);
    await admin.setGroupAccess({ groupId, applicationId: other.id, inClaim: true });
    const { webhookId } = await createTestWebhook(service, other);
    await clientsOf(service, other).webhooks.updateWebhook({ webhookId, eventTypes: ['user.updated'] });
    await admin.inviteUser({ applicationId: tenant.id, email: user.email, groupIds: [groupId] });
    await accept(user.email);
    expect(
      await sql`select application_id from webhook_messages where type = 'user.updated' and user_id = ${user.id}`,
    ).toEqual([{ application_id: other.id }]);
  });

  it('is void once an operator has removed the user, whom nobody knows any more', async () => {
    const email = newEmail();
    await invite(email);
    const [user] = await liveUsers(email);
    await admin.removeApplicationUser({ applicationId: tenant.id, userId: user?.id ?? '' });
    expect(await foundBy(email)).toBeUndefined();
    await expireAt(clock.read());
    expect(await liveUsers(email)).toEqual([]);
  });

  it('is the same for a user and for a stranger, and so are the statements', async () => {
    const known = await createTestUser(service, { name: 'Ada', walletAddress: randomUUID() });
    const other = await createInviter();
    const answers = [];
    for (const email of [known.email, newEmail()]) {
      const answer = await invite(email, other);
      answers.push({ ...answer, invitationId: '', email: '', createdAt: undefined, expiresAt: undefined });
      const { users } = await usersOf(other).listUsers({});
      expect(users).toEqual([]);
    }
    expect(answers[0]).toEqual(answers[1]);
    const statements = [];
    for (const email of [(await createTestUser(service)).email, newEmail()])
      statements.push(await statementsFor(email));
    expect(statements[0]).toEqual(statements[1]);
  });

  it('tells a webhook of the user at the first sign-in, and not before', async () => {
    const inviter = await createInviter();
    const { id: ownerId } = await createTestUser(service, { applicationIds: [inviter.id] });
    const webhook = { url: 'https://hooks.test', ownerId, eventTypes: ['user.created'] };
    await clientsOf(service, inviter).webhooks.createWebhook(webhook);
    const told = () => sql`select user_id from webhook_messages where application_id = ${inviter.id}`;
    const { email, id } = await createTestUser(service);
    await invite(email, inviter);
    expect(await told()).toEqual([]);
    await accept(email, inviter);
    expect(await told()).toEqual([{ user_id: id }]);
  });

  it('is renewed by another one, with one e-mail a day', async () => {
    const [email, other] = [newEmail(), await createInviter()];
    const first = await invite(email);
    clock.advance(HOUR);
    const second = await invite(email);
    expect(second).toMatchObject({ invitationId: first.invitationId, createdAt: first.createdAt });
    expect(Number(second.expiresAt?.seconds) - Number(first.expiresAt?.seconds)).toBe(HOUR / 1_000);
    // Of another application, and in another spelling: the day is that of the mailbox.
    await invite(email.toUpperCase(), other);
    await settleMails();
    expect(mailsTo(email)).toEqual(['en']);
    clock.advance(DAY);
    await invite(email);
    await expect.poll(() => mailsTo(email)).toEqual(['en', 'en']);
    expect((await listed()).filter((each) => each.email === email)).toHaveLength(1);
  });

  it('sends nothing to an address whose owner has stopped e-mails, without a sign of it', async () => {
    const email = newEmail();
    await invite(email);
    await expect.poll(() => mailsTo(email)).toEqual(['en']);
    clock.advance(DAY);
    const link = mailbox.mails.find(({ to }) => to === email)?.link?.url ?? '';
    const browser = new LoginBrowser(service);
    const mutePage = await browser.open(link.slice(PUBLIC_URL.length));
    await browser.submit(mutePage, '/login/mute');
    expect(await invite(email)).toMatchObject({ email });
    await settleMails();
    expect(mailsTo(email)).toEqual(['en']);
  });
});

describe('refuses', () => {
  it('an application that may not invite, before anything else but its fields', async () => {
    const closed = await createTenant(service);
    expect(await reasonOf(usersOf(closed).inviteUser({ email: 'x' }))).toBe('InvalidArgument: Validation failed');
    expect(await reasonOf(invite(newEmail(), closed))).toBe('PermissionDenied: Invitations not allowed');
    const email = newEmail();
    expect((await admin.inviteUser({ applicationId: closed.id, email })).invitation).toMatchObject({ email });
  });

  it('without a mail server', async () => {
    await expect(inviteFrom({}, newEmail())).rejects.toThrow('Mail not configured');
  });

  it.each([0, 91])('%s days', async (expiresInDays) => {
    expect(await reasonOf(usersOf().inviteUser({ email: newEmail(), expiresInDays }))).toMatch(/^InvalidArgument/);
  });

  it('groups and applications that do not exist', async () => {
    const [applicationId, email] = [randomUUID(), newEmail()];
    expect(await reasonOf(admin.inviteUser({ applicationId, email }))).toBe('NotFound: Application not found');
    const unknown = { applicationId: tenant.id, email, groupIds: [randomUUID()] };
    expect(await reasonOf(admin.inviteUser(unknown))).toBe('NotFound: Group not found');
    expect(await liveUsers(email)).toEqual([]);
  });

  it('more than a hundred an hour, and a thousand open ones, of one application', async () => {
    const [busy, full] = [await createInviter(), await createInviter()];
    for (let count = 0; count < 100; count++) await invite(`${count}@busy.example`, busy);
    expect(await reasonOf(invite(newEmail(), busy))).toBe('ResourceExhausted: Too many invitations');
    clock.advance(HOUR / 100);
    await invite(newEmail(), busy);
    await sql`
      insert into invitations (application_id, id, email, user_id, created_user, added_user, created_at, expires_at)
      select ${full.id}, gen_random_uuid(), n || '@full.example', gen_random_uuid(), false, false, ${clock.read()}, ${inDays(1)}
      from generate_series(1, 999) n`;
    const last = newEmail();
    await invite(last, full);
    expect(await reasonOf(invite(newEmail(), full))).toBe('ResourceExhausted: Too many invitations');
    await invite(last, full);
    const [first] = (await usersOf(full).listInvitations({ pageSize: 1 })).invitations;
    await usersOf(full).revokeInvitation({ invitationId: first?.invitationId ?? '' });
    await invite(newEmail(), full);
  });
});

describe('at the same time', () => {
  it('two invitations of a stranger make one user and one invitation', async () => {
    await using replica = await fixture.startReplica();
    const emails = Array.from({ length: 10 }, newEmail);
    for (const email of emails) {
      const at = [service, replica, service, replica].map((each) => clientsOf(each, tenant).users);
      const answers = await Promise.all(at.map((users) => users.inviteUser({ email })));
      expect(new Set(answers.map(({ invitation }) => invitation?.invitationId)).size).toBe(1);
      expect(await liveUsers(email)).toHaveLength(1);
    }
    await settleMails();
    for (const email of emails) expect(mailsTo(email)).toEqual(['en']);
  });

  it('an invitation and a sign-up make one user, who is signed in', async () => {
    const inviter = await createInviter();
    await admin.updateApplication({ applicationId: inviter.id, allowSignUp: true });
    for (let round = 0; round < 10; round++) {
      const email = newEmail();
      const { browser, page } = await fixture.arrive({ of: inviter });
      const codePage = await browser.submit(page, '/login/email', { email });
      const code = mailbox.codeFor(email);
      const [reply] = await Promise.all([browser.submit(codePage, '/login/code', { code }), invite(email, inviter)]);
      expect(reply.location).toContain('authToken=');
      expect(await liveUsers(email)).toHaveLength(1);
    }
  });
});

it('follows the user whose address changes before the sign-in', async () => {
  const [before, after] = [newEmail(), newEmail()];
  const { invitationId } = await invite(before);
  const [user] = await liveUsers(before);
  await admin.updateUser({ userId: user?.id ?? '', email: after });
  const another = await invite(before);
  expect(another.invitationId).not.toBe(invitationId);
  await accept(after);
  const invitations = await listed();
  expect(invitations.find((each) => each.invitationId === invitationId)).toMatchObject({ userId: user?.id });
  expect(invitations.find((each) => each.invitationId === another.invitationId)?.userId).toBeUndefined();
});

it('is forgotten with a user who is erased, and the address can be invited again', async () => {
  const email = newEmail();
  const { invitationId } = await invite(email);
  const [user] = await liveUsers(email);
  await admin.eraseUser({ userId: user?.id ?? '' });
  expect(await foundBy(email)).toBeUndefined();
  expect((await invite(email)).invitationId).not.toBe(invitationId);
});

it('stays open when a scanner follows every link and presses every button', async () => {
  const email = newEmail();
  await invite(email);
  await expect.poll(() => mailsTo(email)).toEqual(['en']);
  const { link } = mailbox.mails.find(({ to }) => to === email) ?? {};
  const scanner = new LoginBrowser(service);
  const { page } = await fixture.arrive({ of: tenant, browser: scanner });
  const pages = [page, await scanner.open(link?.url.slice(PUBLIC_URL.length) ?? '')];
  for (const { forms } of pages) {
    for (const { action, method, fields } of forms) {
      if (method === 'post') await scanner.post(action, { ...fields, email });
      else await scanner.open(`${action}?${new URLSearchParams(fields)}`);
    }
  }
  expect((await foundBy(email))?.acceptedAt).toBeUndefined();
  const [user] = await liveUsers(email);
  expect(await sql`select from login_intents where user_id = ${user?.id ?? ''}`).toEqual([]);
});

describe.each([
  ['expiry', () => expireAt(inDays(31))],
  ['revocation', async (invitationId: string) => void (await usersOf().revokeInvitation({ invitationId }))],
] as const)('the %s of an open invitation', (_, withdraw) => {
  it('erases the user whom it has created', async () => {
    const email = newEmail();
    const { invitationId } = await invite(email);
    const [user] = await liveUsers(email);
    await withdraw(invitationId);
    expect(await foundBy(email)).toBeUndefined();
    expect(
      await sql`select email, name, deleted_at is null as is_live from users where id = ${user?.id ?? ''}`,
    ).toEqual([{ email: '', name: null, is_live: false }]);
    expect(await isAdded(user?.id ?? '')).toBe(false);
    expect(await sql`select from invitations where email = ${email}`).toEqual([]);
    await settleMails();
    expect(mailbox.mails.filter(({ to, kind }) => to === email && kind !== 'invitation')).toEqual([]);
  });

  it('keeps a user of before, and takes away only what it has given', async () => {
    const [stranger, member] = [await createTestUser(service), await createTestUser(service)];
    await admin.addApplicationUser({ applicationId: tenant.id, userId: member.id });
    for (const { email, id } of [stranger, member]) {
      const { invitationId } = await invite(email);
      expect(await isAdded(id)).toBe(true);
      await withdraw(invitationId);
      expect(await foundBy(email)).toBeUndefined();
      expect(await liveUsers(email)).toHaveLength(1);
    }
    expect([await isAdded(stranger.id), await isAdded(member.id)]).toEqual([false, true]);
  });

  it.each([
    ['has signed in to another application', async (email: string) => accept(email, await createOpen())],
    ['an operator has added to another application', (_: string, userId: string) => addElsewhere(userId)],
    ['owns a webhook', (_: string, userId: string) => ownWebhook(userId)],
    ...Object.entries(GIFTS).map(
      ([gift, give]) => [`an operator has given ${gift}`, (_: string, id: string) => give(id)] as const,
    ),
  ] as const)('keeps a user whom it has created and who %s', async (__, use) => {
    const email = newEmail();
    const { invitationId } = await invite(email);
    const [user] = await liveUsers(email);
    await use(email, user?.id ?? '');
    await withdraw(invitationId);
    expect(await foundBy(email)).toBeUndefined();
    expect(await liveUsers(email)).toHaveLength(1);
  });
});

describe.each(['expiry', 'revocation'])('the %s of an invitation', (end) => {
  const withdraw = async (invitationId: string) =>
    end === 'expiry' ? expireAt(inDays(91)) : void (await usersOf().revokeInvitation({ invitationId }));

  it('keeps the access that an operator has given since', async () => {
    const { id: userId, email } = await createTestUser(service);
    const { invitationId } = await invite(email);
    await admin.addApplicationUser({ applicationId: tenant.id, userId });
    await withdraw(invitationId);
    expect(await isAdded(userId)).toBe(true);
  });

  it('takes away the access that it has given, also after it was renewed', async () => {
    const { id: userId, email } = await createTestUser(service);
    await invite(email);
    const { invitationId } = await invite(email);
    await withdraw(invitationId);
    expect(await isAdded(userId)).toBe(false);
  });
});

it('takes away the access at its revocation, also if an earlier invitation was accepted', async () => {
  const { id: userId, email } = await createTestUser(service);
  await invite(email);
  await accept(email);
  const { invitationId } = await invite(email);
  await usersOf().revokeInvitation({ invitationId });
  expect(await isAdded(userId)).toBe(false);
});

describe('an invitation of an operator to groups', () => {
  const open = async () => {
    const [inviter, email, { groupId }] = [await createInviter(), newEmail(), await createTestGroup(service)];
    await admin.updateApplication({ applicationId: inviter.id, restrictAccess: true });
    const request = { applicationId: inviter.id, email, groupIds: [groupId], expiresInDays: 1 };
    const { invitation } = await admin.inviteUser(request);
    const [user] = await liveUsers(email);
    const groupsOf = async () => (await admin.listUserGroups({ userId: user?.id ?? '' })).groups.length;
    return { inviter, email, request, groupId, invitation, userId: user?.id ?? '', groupsOf };
  };

  it('is not prolonged or shortened by the application, but by the operator', async () => {
    const { inviter, email, request, invitation } = await open();
    for (let turn = 0; turn < 2; turn++)
      expect(await usersOf(inviter).inviteUser({ email, expiresInDays: 90 })).toMatchObject({ invitation });
    const renewed = await admin.inviteUser({ ...request, groupIds: [], expiresInDays: 90 });
    expect(renewed.invitation).toMatchObject({ invitationId: invitation?.invitationId });
    expect(renewed.invitation?.expiresAt).not.toEqual(invitation?.expiresAt);
  });

  it.each([
    ['it has expired', async () => undefined, 2 * DAY],
    [
      'an operator has removed the user',
      async (applicationId: string, userId: string) => admin.removeApplicationUser({ applicationId, userId }),
      0,
    ],
  ] as const)('is replaced by one without groups once %s', async (_, end, agoMs) => {
    const { inviter, email, invitation, userId, groupsOf } = await open();
    await end(inviter.id, userId);
    const [ended] = await sql`select expires_at from invitations where user_id = ${userId}`;
    await sql`update invitations set expires_at = ${new Date(ended?.expires_at - agoMs)} where user_id = ${userId}`;
    const again = await invite(email, inviter);
    expect(again.invitationId).not.toBe(invitation?.invitationId);
    await accept(email, inviter);
    expect(await groupsOf()).toBe(0);
  });
});

it('lets nobody in once it has expired, although its job comes later, and does not take the sign-in for an acceptance', async () => {
  const restricted = await createInviter();
  const { id: userId, email } = await createTestUser(service);
  await admin.updateApplication({ applicationId: restricted.id, restrictAccess: true });
  await invite(email, restricted);
  await sql`update invitations set expires_at = ${clock.read()} where user_id = ${userId}`;
  expect(await signIn(email, restricted)).not.toContain('authToken=');
  const loginIntentId = await createLoginIntent(service, restricted);
  expect(await reasonOf(admin.completeLogin({ loginIntentId, userId }))).toBe('PermissionDenied: Access not allowed');
  await admin.updateApplication({ applicationId: restricted.id, restrictAccess: false });
  const authToken = new URL(await signIn(email, restricted)).searchParams.get('authToken') ?? '';
  await clientsOf(service, restricted).auth.exchangeToken({ authToken });
  await expireAt(inDays(1));
  expect(await isAdded(userId, restricted)).toBe(false);
});

it('is not accepted by a sign-in on behalf of the user, but expires', async () => {
  const { group } = await admin.createGroup({ name: `g-${randomUUID()}` });
  const { id: userId, email } = await createTestUser(service);
  await admin.inviteUser({ applicationId: tenant.id, email, groupIds: [group?.groupId ?? ''] });
  const loginIntentId = await createLoginIntent(service, tenant);
  const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId, onBehalfBy: 'support@example.com' });
  const authToken = new URL(redirectUrl).searchParams.get('authToken') ?? '';
  await clientsOf(service, tenant).auth.exchangeToken({ authToken });
  expect((await foundBy(email))?.acceptedAt).toBeUndefined();
  expect((await admin.listUserGroups({ userId })).groups).toEqual([]);
  await expireAt(inDays(31));
  expect(await foundBy(email)).toBeUndefined();
  expect(await isAdded(userId)).toBe(false);
});

it('no longer expires once it is accepted, and is still there to be revoked', async () => {
  const email = newEmail();
  const { invitationId } = await invite(email);
  await accept(email);
  const [user] = await liveUsers(email);
  await expireAt(inDays(91));
  expect(await foundBy(email)).toMatchObject({ invitationId, userId: user?.id });
  await usersOf().revokeInvitation({ invitationId });
  expect(await foundBy(email)).toBeUndefined();
  expect(await isAdded(user?.id ?? '')).toBe(false);
  expect(await liveUsers(email)).toHaveLength(1);
  expect(await reasonOf(usersOf().revokeInvitation({ invitationId }))).toBe('NotFound: Invitation not found');
});

it('is accepted late rather than expired if the process ended between the sign-in and its acceptance', async () => {
  const email = newEmail();
  await invite(email);
  const [user] = await liveUsers(email);
  const authToken = new URL(await signIn(email)).searchParams.get('authToken') ?? '';
  await clientsOf(service, tenant).auth.exchangeToken({ authToken });
  await sql`update invitations set accepted_at = null where user_id = ${user?.id ?? ''}`;
  await expireAt(inDays(31));
  expect(await foundBy(email)).toMatchObject({ userId: user?.id });
  expect(await isAdded(user?.id ?? '')).toBe(true);
});

it('lets a person into a restricted application, and nobody else, until it is revoked', async () => {
  const restricted = await createInviter();
  await admin.updateApplication({ applicationId: restricted.id, allowSignUp: true, restrictAccess: true });
  const [email, uninvited] = [newEmail(), await createTestUser(service)];
  const { invitationId } = await invite(email, restricted);
  expect(await signIn(uninvited.email, restricted)).not.toContain('authToken=');
  const authToken = new URL(await signIn(email, restricted)).searchParams.get('authToken') ?? '';
  const { auth, sessions } = clientsOf(service, restricted);
  const sessionId = (await auth.exchangeToken({ authToken })).session?.id ?? '';
  expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: true });
  await usersOf(restricted).revokeInvitation({ invitationId });
  expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: false });
  expect(await signIn(email, restricted)).not.toContain('authToken=');
});

it('lets nobody see or revoke the invitations of another application', async () => {
  const [email, other] = [newEmail(), await createInviter()];
  const { invitationId } = await invite(email);
  expect(await listed(other)).toEqual([]);
  expect(await reasonOf(usersOf(other).revokeInvitation({ invitationId }))).toBe('NotFound: Invitation not found');
  expect(await foundBy(email)).toMatchObject({ invitationId });
});

/** What an operator gives a user who is nothing but an invitation. */
const GIFTS: Readonly<Record<string, (userId: string) => Promise<unknown>>> = {
  'an external ID': (userId) => admin.updateUser({ userId, externalId: randomUUID() }),
  'an external ID by an import': async (userId) => {
    const [user] = await sql<{ email: string }[]>`select email from users where id = ${userId}`;
    await admin.batchCreateUsers({
      users: [{ email: user?.email ?? '', externalId: randomUUID() }],
      onConflict: 'update',
    });
  },
  attributes: (userId) => admin.updateUser({ userId, attributes: { plan: 'pro' } }),
  'a name': (userId) => admin.updateUser({ userId, name: 'Ada' }),
  'a picture': (userId) => admin.updateUser({ userId, profileImage: 'https://img.test/ada' }),
  'another address': async (userId) => {
    await admin.updateUser({ userId, email: newEmail() });
    const [user] = await sql`select from users where id = ${userId} and deleted_at is null`;
    expect(user).toBeDefined();
    // The test looks for the address that was invited.
    await admin.updateUser({ userId, email: (await invitedAs(userId)) ?? '' });
  },
  'a wallet': (userId) => admin.updateUser({ userId, walletAddress: new Wallet().address }),
  'a group': async (userId) => admin.addGroupMember({ userId, groupId: (await createTestGroup(service)).groupId }),
  'the access once more': async (userId) => {
    await admin.addApplicationUser({ applicationId: tenant.id, userId });
  },
  'an invitation to another application': async (userId) => {
    const other = await createInviter();
    // It outlives the one that expires.
    await admin.inviteUser({ applicationId: other.id, email: (await invitedAs(userId)) ?? '', expiresInDays: 60 });
  },
  'a deactivation': (userId) => admin.deactivateUser({ userId }),
  'an identity': (userId) =>
    sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
      values ('https://acme.test', ${userId}, ${userId}, 'acme', now())`,
  'a passkey': (userId) => sql`
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
    values (${userId}, gen_random_uuid(), ${randomBytes(16)}, 'usher.test', '\\x00', 0, '{}', gen_random_uuid(), true,
      true, true, 'Key', now())`,
};

async function invitedAs(userId: string): Promise<string | undefined> {
  const [invitation] = await sql<{ email: string }[]>`select email from invitations where user_id = ${userId}`;
  return invitation?.email;
}

async function createOpen(): Promise<Tenant> {
  const open = await createTenant(service);
  await admin.updateApplication({ applicationId: open.id, allowSignUp: true });
  return open;
}

async function addElsewhere(userId: string): Promise<void> {
  await admin.addApplicationUser({ applicationId: (await createTenant(service)).id, userId });
}

async function ownWebhook(ownerId: string): Promise<void> {
  await clientsOf(service, tenant).webhooks.createWebhook({ url: 'https://hooks.test', ownerId, eventTypes: ['*'] });
}

/** Returns the names of the statements that invite the address. */
async function statementsFor(email: string): Promise<string[]> {
  const names: string[] = [];
  const { run } = callAt(clock.read());
  const noting: typeof run = async (statement, parameters) => {
    names.push(statement.name);
    return run(statement, parameters);
  };
  await inviteFrom({ run: noting, notices: { toLanguage: () => 'en', wake: () => {} } }, email);
  return names;
}

/** Invites in a call of the test. */
function inviteFrom(parts: Partial<ApplicationCall>, email: string) {
  const keys = deriveLoginCodeKeys(service.config.secrets.encryptionKeys ?? []);
  const application = { ...tenant, redirectUris: [] };
  return inviteUser({ ...callAt(clock.read()), application, ...parts }, keys, { email });
}
