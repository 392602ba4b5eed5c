/** Links with which operators let people back in. Their use: test/integration/modules/account/recovery.test.ts. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { parseOperators } from '../../src/config/operators.ts';
import { refusal, validationFailed } from '../support/answers.ts';
import { HOUR, MINUTE, TestClock } from '../support/clock.ts';
import { createDirectory } from '../support/directory.ts';
import { makeRecoveryLink } from '../support/recovery.ts';
import { adminClient, beginSession, createTestUser, startTestService, type TestUser } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID, UUID } from './contract-fixture.ts';

const { createRecoveryLink, listRecoveryLinks, revokeRecoveryLink } = AdminService.method;
const DAY = 24 * HOUR;
const OPERATOR = 'grace@recovery.test';
const operatorsFile = join(await createDirectory(), 'operators');
const operatorsText = `${OPERATOR} support\n`;
await writeFile(operatorsFile, operatorsText);
const keyOf = (name: string) => `a-key-of-${name}-with-sufficient-length-for-tests`;
const clock = new TestClock();
const { service, tenant, callWith } = await openContractFixture({
  clock: clock.read,
  config: {
    operators: parseOperators(operatorsText),
    operatorsFile,
    adminKeys: ['desk', 'limited', 'other'].map((name) => ({ name, key: keyOf(name), rights: ['recover'] })),
  },
});
const admin = adminClient(service);
const { sql } = service.database;
const as = (name: string) => ({ 'x-admin-key': keyOf(name) });
const REASON = 'Called from the number in the staff list.';

/** Returns the answer that the key gets for a link. */
const ask = (fields: object, name = 'desk') =>
  callWith(createRecoveryLink, { reason: REASON, removes: ['PASSKEYS'], ...fields }, as(name));

async function createSignedIn(email?: string): Promise<TestUser> {
  const user = await createTestUser(service, email ? { email } : {});
  await beginSession(service, tenant, user);
  return user;
}

describe('CreateRecoveryLink checks in this order', () => {
  it('the key, the fields, and whether there is an account page', async () => {
    await using without = await startTestService({
      config: { authPageUrl: 'https://login.test/sign-in' },
      database: service.database,
      like: service.config,
    });
    const transport = (key: string) =>
      createConnectTransport({
        baseUrl: without.url,
        httpVersion: '1.1',
        interceptors: [
          (next) => (request) => {
            request.header.set('x-admin-key', key);
            return next(request);
          },
        ],
      });
    const askFor = (key: string, fields: object) =>
      createClient(AdminService, transport(key)).createRecoveryLink(fields).catch(String);
    expect(await askFor('wrong', {})).toContain('Invalid admin key');
    expect(await askFor(keyOf('desk'), { userId: UNKNOWN_ID })).toContain('Validation failed');
    expect(await askFor(keyOf('desk'), { userId: UNKNOWN_ID, reason: REASON })).toContain('No account page');
  });

  it.each([
    ['userId', { userId: 'ada' }],
    ['reason', { reason: '' }],
    ['reason', { reason: 'x'.repeat(501) }],
    ['removes', { removes: ['EVERYTHING'] }],
    ['expiresInMinutes', { expiresInMinutes: 4 }],
    ['expiresInMinutes', { expiresInMinutes: 1_441 }],
    ['delayHours', { delayHours: -1 }],
    ['delayHours', { delayHours: 73 }],
  ])('the field %s', async (field, fields) => {
    const { code, fields: violated } = await ask({ userId: UNKNOWN_ID, ...fields });
    expect({ code, violated }).toEqual({ code: 'invalid_argument', violated: [expect.stringContaining(field)] });
  });

  it('who the user is, before what is lost', async () => {
    expect(await ask({ userId: UNKNOWN_ID, removes: [] })).toEqual(refusal('not_found', 'User not found'));
    const grace = await createSignedIn(OPERATOR.toUpperCase());
    await admin.deactivateUser({ userId: grace.id });
    const isOperator = refusal('failed_precondition', 'User is an operator');
    expect(await ask({ userId: grace.id, removes: [] })).toEqual(isOperator);
    const ada = await createSignedIn();
    await admin.deactivateUser({ userId: ada.id });
    expect(await ask({ userId: ada.id, removes: [] })).toEqual(refusal('failed_precondition', 'User not active'));
    await admin.reactivateUser({ userId: ada.id });
    expect(await ask({ userId: ada.id, removes: [] })).toEqual(refusal('failed_precondition', 'User has signed in'));
    await admin.deleteUser({ userId: ada.id });
    expect(await ask({ userId: ada.id, removes: [] })).toEqual(refusal('not_found', 'User not found'));
  });

  it('the mail server before the permits, which are those of the key', async () => {
    const { id: userId } = await createTestUser(service);
    for (let made = 1; made <= 20; made++) expect((await ask({ userId }, 'limited')).code).toBe('ok');
    expect(await ask({ userId }, 'limited')).toEqual(refusal('resource_exhausted', 'Too many recovery links'));
    expect((await ask({ userId }, 'other')).code).toBe('ok');
    const like = { ...service.config, loginMethods: ['passkey'] as const };
    await using mute = await startTestService({
      database: service.database,
      like,
      sendMail: undefined,
      clock: clock.read,
    });
    const request = { userId, reason: REASON, removes: ['ADDRESS'] };
    await expect(adminClient(mute).createRecoveryLink(request)).rejects.toThrow('Mail not configured');
    clock.advance(DAY / 20);
    expect((await ask({ userId }, 'limited')).code).toBe('ok');
  });
});

describe('a recovery link', () => {
  it('has a URL with a fragment, a spoken code, and times of its own', async () => {
    const { id: userId } = await createTestUser(service);
    const { recoveryLink, url, spokenCode, stoppedBefore } = await admin.createRecoveryLink({
      userId,
      removes: ['ADDRESS', 'PASSKEYS', 'ADDRESS'],
      reason: REASON,
    });
    expect(url).toMatch(/^https:\/\/usher\.test\/recover#[\w-]{43}$/);
    expect(spokenCode).toMatch(/^\d{4} \d{4}$/);
    expect(stoppedBefore).toBe(false);
    expect(recoveryLink).toMatchObject({
      recoveryLinkId: expect.stringMatching(UUID),
      userId,
      removes: ['ADDRESS', 'PASSKEYS'],
      createdBy: 'admin',
      status: 'OPEN',
    });
    expect(recoveryLink?.endedAt).toBeUndefined();
    const at = (stamp: { seconds: bigint } | undefined) => Number(stamp?.seconds) * 1_000;
    const { createdAt, usableAt, expiresAt } = recoveryLink ?? {};
    expect([at(usableAt) - at(createdAt), at(expiresAt) - at(usableAt)]).toEqual([DAY, HOUR]);
    const {
      usableAt: atOnce,
      createdAt: made,
      expiresAt: end,
    } = await makeRecoveryLink(service, { id: userId }, [], {
      delayHours: undefined,
      expiresInMinutes: 5,
    });
    expect([atOnce, at(end) - at(made)]).toEqual([made, 5 * MINUTE]);
    const stored = JSON.stringify(await sql`select * from recovery_links where user_id = ${userId}`);
    for (const secret of [url.slice(-43), spokenCode.replace(' ', '')]) expect(stored).not.toContain(secret);
  });

  it('ends the one before, and nothing else of the user', async () => {
    const user = await createSignedIn();
    const before = await sql`select * from users where id = ${user.id}`;
    const first = await makeRecoveryLink(service, user);
    clock.advance(MINUTE);
    await makeRecoveryLink(service, user);
    clock.advance(2 * HOUR);
    await makeRecoveryLink(service, user, ['WALLET', 'IDENTITIES', 'SECOND_FACTOR']);
    const { recoveryLinks } = await admin.listRecoveryLinks({ userId: user.id });
    expect(recoveryLinks.map(({ status }) => status)).toEqual(['OPEN', 'EXPIRED', 'REPLACED']);
    expect(recoveryLinks.at(-1)?.recoveryLinkId).toBe(first.recoveryLinkId);
    expect(await sql`select * from users where id = ${user.id}`).toEqual(before);
    expect((await admin.listUserSessions({ userId: user.id })).sessions).toHaveLength(0);
  });

  it('is one of a user, also if two are made at once', async () => {
    const user = await createTestUser(service);
    await Promise.all([1, 2, 3].map(() => ask({ userId: user.id })));
    const { recoveryLinks } = await admin.listRecoveryLinks({ userId: user.id });
    expect(recoveryLinks.map(({ status }) => status).sort()).toEqual(['OPEN', 'REPLACED', 'REPLACED']);
  });

  it('is made once with an Idempotency-Key', async () => {
    const user = await createTestUser(service);
    const headers = { ...as('other'), 'idempotency-key': randomUUID() };
    const fields = { userId: user.id, removes: ['PASSKEYS'], reason: REASON };
    const first = await callWith(createRecoveryLink, fields, headers);
    expect(first.code).toBe('ok');
    expect(await callWith(createRecoveryLink, fields, headers)).toEqual(first);
    expect((await admin.listRecoveryLinks({ userId: user.id })).recoveryLinks).toHaveLength(1);
  });

  it('is revoked once, and stays what it was if it has ended', async () => {
    const user = await createTestUser(service);
    const { recoveryLinkId } = await makeRecoveryLink(service, user);
    for (let time = 0; time < 2; time++) {
      expect((await callWith(revokeRecoveryLink, { recoveryLinkId }, as('desk'))).code).toBe('ok');
    }
    clock.advance(1);
    const late = await makeRecoveryLink(service, user);
    clock.advance(DAY);
    await callWith(revokeRecoveryLink, { recoveryLinkId: late.recoveryLinkId }, as('desk'));
    const { recoveryLinks } = await admin.listRecoveryLinks({ userId: user.id });
    expect(recoveryLinks.map(({ status }) => status)).toEqual(['EXPIRED', 'REVOKED']);
    expect(recoveryLinks.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
    const unknown = refusal('not_found', 'Recovery link not found');
    expect(await callWith(revokeRecoveryLink, { recoveryLinkId: UNKNOWN_ID }, as('desk'))).toEqual(unknown);
    expect(await callWith(revokeRecoveryLink, {}, as('desk'))).toEqual(validationFailed('recoveryLinkId'));
    expect(await callWith(listRecoveryLinks, { userId: UNKNOWN_ID }, as('desk'))).toEqual(
      refusal('not_found', 'User not found'),
    );
  });

  it('leaves its reason in the audit log alone, until the user is erased', async () => {
    const user = await createTestUser(service);
    await ask({ userId: user.id });
    const notesOf = async () =>
      (await admin.listAuditEvents({ resource: user.id })).auditEvents.flatMap(({ actor, action, note }) =>
        action.endsWith('RecoveryLink') ? [{ actor, note }] : [],
      );
    expect(await notesOf()).toEqual([{ actor: 'desk', note: REASON }]);
    expect(JSON.stringify(await sql`select * from recovery_links where user_id = ${user.id}`)).not.toContain(REASON);
    await admin.eraseUser({ userId: user.id });
    expect(await notesOf()).toEqual([{ actor: 'desk', note: undefined }]);
    expect(await sql`select from recovery_links where user_id = ${user.id}`).toHaveLength(0);
  });
});

describe('an operator', () => {
  it('is whoever the file names now', async () => {
    const user = await createTestUser(service, { email: `late-${OPERATOR}` });
    expect((await ask({ userId: user.id })).code).toBe('ok');
    await writeFile(operatorsFile, `${operatorsText}late-${OPERATOR} viewer\n`);
    expect(await ask({ userId: user.id })).toEqual(refusal('failed_precondition', 'User is an operator'));
    // Somebody is writing the file.
    await writeFile(operatorsFile, `late-${OPERATOR}`);
    expect(await ask({ userId: user.id })).toEqual(refusal('failed_precondition', 'User is an operator'));
    await writeFile(operatorsFile, operatorsText);
    expect((await ask({ userId: user.id })).code).toBe('ok');
  });
});
