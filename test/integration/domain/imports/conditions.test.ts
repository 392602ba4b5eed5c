/** Conditions of the statements of imports, a row each. What operators see: test/integration/contract/import-users.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../../src/domain/core/call.ts';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { type ImportOptions, importLines } from '../../../../src/domain/imports/import-lines.ts';
import { findKnown } from '../../../../src/domain/imports/known.ts';
import { checkUser } from '../../../../src/domain/imports/user-line.ts';
import { at, DAY, type Meanwhile, NOW, openDomain, runWith } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();
const [ISSUER, OTHER_ISSUER] = ['https://issuer.test', 'https://other.test'];
const signedOut: string[] = [];
const OPTIONS: ImportOptions = {
  ...{ dryRun: false, onConflict: 'fail', notifies: false, rpId: 'usher.test' },
  cipher: new RowCipher([Buffer.alloc(32)]),
  issuers: new Map([
    ['test', ISSUER],
    ['other', OTHER_ISSUER],
  ]),
  onSignedOut: (userId) => void signedOut.push(userId),
};

type Columns = Readonly<Record<string, unknown>>;
const importOne = async (line: Columns, options: Partial<ImportOptions> = {}) =>
  (await importLines(() => callAt(), [checkUser(line)], { ...OPTIONS, ...options }))[0];

const [EMAIL, WALLET] = ['grace@example.com', `0x${'aB'.repeat(20)}`];
const KNOWN = { email: 'ada@example.com', external_id: 'ext|1', wallet_address: WALLET };
const identity = (provider = 'test', subject = 'sub') => ({ identities: [{ provider, subject }] });
const CREDENTIAL = randomBytes(16);
const passkey = (credentialId = CREDENTIAL, rpId = 'usher.test') => ({
  passkeys: [{ credentialId: credentialId.toString('base64url'), publicKey: 'AQID', rpId }],
});

const APPLICATION = randomUUID();

let userId: string;
let other: string;
beforeEach(async () => {
  signedOut.length = 0;
  await sql`truncate users, groups, applications cascade`;
  await sql`truncate user_identities, passkeys, added_users, totp_secrets`;
  userId = await createUser(KNOWN);
  other = await createUser({ email: 'other@example.com', external_id: 'ext|2' });
  await insert('user_identities', { user_id: userId, issuer: ISSUER, subject: 'sub' });
  await insert('passkeys', { user_id: userId, credential_id: CREDENTIAL });
});

const deleteKnown = () => sql`update users set deleted_at = ${NOW} where id = ${userId}`;

describe('a line is', () => {
  const EXISTS = 'USER_ALREADY_EXISTS';
  test.each<[string, line: () => Columns, reason: string | undefined, field?: string, prepare?: () => unknown]>([
    ['about a new user', () => ({}), undefined],
    ['about a new user of that ID', () => ({ id: randomUUID() }), undefined],
    ['about the user of an address', () => ({ email: 'ADA@example.com' }), EXISTS, 'email'],
    ['about no deleted user of it', () => ({ email: KNOWN.email }), undefined, '', deleteKnown],
    ['about the user of an ID', () => ({ id: userId }), EXISTS, 'id'],
    ['about no deleted user of an ID', () => ({ id: userId }), EXISTS, 'id', deleteKnown],
    [
      'about no deleted user of an ID, beside the address of another',
      () => ({ id: userId, email: 'other@example.com' }),
      EXISTS,
      'id',
      deleteKnown,
    ],
    [
      'about the user of an address, with a new external ID',
      () => ({ email: KNOWN.email, externalId: 'ext|9' }),
      EXISTS,
      'email',
    ],
    ['about the user of an external ID', () => ({ externalId: 'ext|1' }), EXISTS, 'externalId'],
    ['about no deleted user of an external ID', () => ({ externalId: 'ext|1' }), undefined, '', deleteKnown],
    [
      'refused with the wallet of another user',
      () => ({ walletAddress: WALLET.toLowerCase() }),
      EXISTS,
      'walletAddress',
    ],
    [
      'about a new user with the wallet of a deleted one',
      () => ({ walletAddress: WALLET }),
      undefined,
      '',
      deleteKnown,
    ],
    ['refused with two users', () => ({ id: userId, externalId: 'ext|2' }), 'CONFLICTING_IDS', 'externalId'],
    ['refused with a new ID', () => ({ id: randomUUID(), email: KNOWN.email }), 'CONFLICTING_IDS', 'id'],
    ['refused with the identity of another user', () => identity(), 'IDENTITY_ALREADY_LINKED', 'identities'],
    ['about a new user with the subject of another issuer', () => identity('other'), undefined],
    ['about a new user with another subject', () => identity('test', 'another'), undefined],
    ['refused with an unknown provider', () => identity('unknown'), 'UNKNOWN_PROVIDER', 'identities'],
    [
      'refused with an unknown provider among others',
      () => ({ identities: [...identity('other').identities, ...identity('unknown').identities] }),
      'UNKNOWN_PROVIDER',
      'identities',
    ],
    ['refused with the passkey of another user', () => passkey(), 'PASSKEY_ALREADY_EXISTS', 'passkeys'],
    [
      'refused with the passkey of another host',
      () => passkey(randomBytes(16), 'a'),
      'PASSKEY_OF_OTHER_HOST',
      'passkeys',
    ],
    [
      'refused with a passkey without a key',
      () => passkey(randomBytes(16)),
      'VALIDATION_FAILED',
      'passkeys[0].publicKey',
    ],
    [
      'refused with the passkey of another host among others',
      () => ({ passkeys: [...passkey(randomBytes(16)).passkeys, ...passkey(randomBytes(16), 'a').passkeys] }),
      'PASSKEY_OF_OTHER_HOST',
      'passkeys',
    ],
    [
      'refused for its user first, if a passkey has no key either',
      () => ({ email: KNOWN.email, ...passkey(randomBytes(16)) }),
      EXISTS,
      'email',
    ],
    [
      'refused with an unknown group among others',
      () => ({ groups: ['known', 'unknown'] }),
      'GROUP_NOT_FOUND',
      'groups',
      () => insert('groups', { name: 'known' }),
    ],
    [
      'refused with an unknown application among others',
      () => ({ applications: [APPLICATION, other] }),
      'APPLICATION_NOT_FOUND',
      'applications',
      () => createApplication({ id: APPLICATION }),
    ],
    ['refused with an unknown group', () => ({ groups: ['unknown'] }), 'GROUP_NOT_FOUND', 'groups'],
    ['refused with an unknown application', () => ({ applications: [other] }), 'APPLICATION_NOT_FOUND', 'applications'],
  ])('%s', async (_, line, reason, field, prepare) => {
    await prepare?.();
    const given = { email: EMAIL, ...line() };
    const result = await importOne(given);
    expect(result).toMatchObject(reason ? { status: 'failed', reason, field } : { status: 'created' });
    const created = await sql`select from users where created_at = ${NOW}`;
    expect(created).toHaveLength(reason ? 0 : 1);
  });

  test.each<[string, columns: Columns, reason: string | undefined]>([
    ['about a member of an application', {}, undefined],
    ['refused with a deleted application', { deleted_at: NOW }, 'APPLICATION_NOT_FOUND'],
  ])('%s', async (_, columns, reason) => {
    const applicationId = await createApplication(columns);
    await createApplication();
    const result = await importOne({ email: EMAIL, applications: [applicationId, applicationId] });
    expect(result?.reason).toBe(reason);
    const added = await sql`select application_id, user_id from added_users`;
    expect(added).toEqual(reason ? [] : [{ application_id: applicationId, user_id: result?.id }]);
  });

  test.each([
    ['skip', 'skipped'],
    ['update', 'updated'],
  ] as const)('with %s about a user who is there %s', async (onConflict, status) => {
    for (const key of [{ email: KNOWN.email }, { email: KNOWN.email, id: userId }])
      expect(await importOne({ ...key, name: 'New' }, { onConflict })).toEqual({ status, id: userId });
    const names = await sql`select id, name from users order by id = ${other}`;
    expect(names).toEqual([
      { id: userId, name: status === 'updated' ? 'New' : null },
      { id: other, name: null },
    ]);
  });
});

/** Returns a call that names its statements, after which `meanwhile` runs, and some statements only once it has failed. */
function watch(meanwhile: Meanwhile = {}, before: Meanwhile = {}) {
  const { run, ...call } = callAt();
  const names: string[] = [];
  const watched: typeof run = async (statement, parameters) => {
    await before[statement.name]?.();
    names.push(statement.name);
    return run(statement, parameters);
  };
  return { ...call, run: runWith(meanwhile, watched), names };
}
const importBy = (call: Call, lines: Columns[], options: Partial<ImportOptions> = {}) =>
  importLines(
    () => call,
    lines.map((line) => checkUser(line)),
    { ...OPTIONS, ...options },
  );

describe('a new user', () => {
  const read = async () => (await sql`select * from users where email = ${EMAIL}`)[0];
  const BEFORE = at(-DAY);

  test.each<[string, line: Columns, row: Columns]>([
    ['has the present time', {}, { created_at: NOW, email_verified_at: null, deactivated_at: null }],
    ['has the time of the line', { createdAt: BEFORE.toISOString() }, { created_at: BEFORE }],
    [
      'has an address that was proved then',
      { createdAt: BEFORE.toISOString(), emailVerified: true },
      { email_verified_at: BEFORE },
    ],
    ['is deactivated from now', { createdAt: BEFORE.toISOString(), isActive: false }, { deactivated_at: NOW }],
    ['has a second factor', { totpSecret: 'A'.repeat(32) }, { has_second_factor: true }],
    ['has none', { attributes: { plan: 'pro' } }, { has_second_factor: false, attributes: { plan: 'pro' } }],
  ])('%s', async (_, line, row) => {
    const result = await importOne({ email: EMAIL, ...line });
    expect(await read()).toMatchObject({ id: result?.id, ...row });
    expect(await sql`select from totp_secrets`).toHaveLength(row.has_second_factor ? 1 : 0);
    expect(signedOut).toEqual([]);
  });

  test.each([true, false])('is told to the applications only if that is wanted: %s', async (notifies) => {
    const application_id = await createApplication();
    await insert('webhooks', { application_id });
    readTold();
    await importOne({ email: EMAIL, applications: [application_id] }, { notifies });
    expect(readTold()).toEqual(notifies ? [application_id] : []);
    expect(await sql`select from webhook_messages where application_id = ${application_id}`).toHaveLength(
      notifies ? 1 : 0,
    );
  });
});

describe('meanwhile', () => {
  const add = () => createUser({ email: EMAIL });
  const remove = () => sql`delete from users where email = ${EMAIL}`;
  const fail = (state: string) => sql.unsafe(`do $$ begin raise exception 'broken' using errcode = '${state}'; end $$`);
  const once = (work: () => PromiseLike<unknown>) => {
    let left = 1;
    return async () => left-- > 0 && work();
  };

  test('a user has come: the other lines are stored, in their order', async () => {
    const lines = [{ email: 'a@example.com' }, { email: EMAIL }, { email: 'b@example.com' }];
    const results = await importBy(watch({ selectKnownOfLines: once(add) }), lines);
    expect(results.map(({ status }) => status)).toEqual(['created', 'failed', 'created']);
    expect(results[1]).toMatchObject({ reason: 'USER_ALREADY_EXISTS', field: 'email' });
  });

  test('a user comes and goes all the time: the line is given up', async () => {
    const call = watch({ selectKnownOfLines: add }, { selectKnownOfLines: remove });
    expect(await importBy(call, [{ email: EMAIL }])).toEqual([{ status: 'failed', reason: 'USER_ALREADY_EXISTS' }]);
    expect(call.names.filter((name) => name === 'insertLines')).toHaveLength(3);
  });

  test('a group comes and goes all the time: the line is given up', async () => {
    const [join, leave] = [() => insert('groups', { name: 'fleeting' }), () => sql`delete from groups`];
    const call = watch({ selectKnownOfLines: leave }, { selectKnownOfLines: join });
    const results = await importBy(call, [{ email: EMAIL, groups: ['fleeting'] }]);
    expect(results).toEqual([{ status: 'failed', reason: 'GROUP_NOT_FOUND' }]);
  });

  test.each([
    ['40P01', true],
    ['XX000', false],
  ])('Postgres answers %s: the line is tried again, or the import ends', async (state, isTried) => {
    const done = importBy(watch({}, { insertLines: once(() => fail(state)) }), [{ email: EMAIL }]);
    if (isTried) expect(await done).toMatchObject([{ status: 'created' }]);
    else await expect(done).rejects.toThrow();
  });

  test('the user is erased: the line fails, and nothing is kept', async () => {
    const erase = () => sql`update users set deleted_at = ${NOW}, email = '', wallet_address = '' where id = ${userId}`;
    const call = watch({ insertLines: erase });
    const line = { email: KNOWN.email, totpSecret: 'A'.repeat(32) };
    const [result] = await importBy(call, [line], { onConflict: 'update' });
    expect(result).toEqual({ status: 'failed', id: userId, reason: 'USER_NOT_FOUND' });
    expect(await sql`select from totp_secrets`).toHaveLength(0);
  });
});

describe('statements', () => {
  test.each<[string, line: Columns, names: string[], options?: Partial<ImportOptions>]>([
    ['for a new user', { email: EMAIL }, ['selectKnownOfLines', 'insertLines']],
    ['for a user who is there', { email: KNOWN.email }, ['selectKnownOfLines']],
    ['for a dry run', { email: EMAIL }, ['selectKnownOfLines'], { dryRun: true }],
    [
      'for an update without groups',
      { email: KNOWN.email },
      ['selectKnownOfLines'],
      { dryRun: true, onConflict: 'update' },
    ],
    ['for a passkey', { email: KNOWN.email, ...passkey() }, ['selectKnownOfLines', 'selectKnownPasskeys']],
  ])('are few %s', async (_, line, names, options) => {
    const call = watch();
    await importBy(call, [line], options);
    expect(call.names).toEqual(names);
  });

  test('read what the lines name, and nothing else', async () => {
    const applicationId = await createApplication();
    await createApplication();
    const { id: groupId } = await insert('groups', { name: 'g' });
    await insert('groups', {});
    await insert('user_identities', { user_id: other, issuer: OTHER_ISSUER, subject: 'other' });
    await insert('passkeys', { user_id: other });
    const line = {
      ...{ id: userId, email: KNOWN.email, externalId: 'ext|1', walletAddress: WALLET, groups: ['g'] },
      ...{ applications: [applicationId], ...identity(), ...passkey() },
    };
    const known = await findKnown(callAt().run, [checkUser(line), checkUser({ email: EMAIL })], OPTIONS.issuers);
    expect(Object.fromEntries(known)).toEqual({
      ...{ [`id ${userId}`]: userId, 'externalId ext|1': userId, 'email ada@example.com': userId },
      ...{ [`walletAddress ${WALLET.toLowerCase()}`]: userId, [`identity ${ISSUER} sub`]: userId },
      ...{
        [`passkey ${CREDENTIAL.toString('hex')}`]: userId,
        [`application ${applicationId}`]: null,
        'group g': groupId,
      },
    });
  });
});

describe('an update', () => {
  const update = (line: Columns, options: Partial<ImportOptions> = {}) =>
    importOne({ email: KNOWN.email, ...line }, { onConflict: 'update', ...options });
  const read = async () =>
    (
      await sql`select name, external_id, wallet_address, email_verified_at, deactivated_at from users where id = ${userId}`
    )[0];

  test.each<[string, before: Columns, line: Columns, after: Columns, isSignedOut: boolean]>([
    [
      'keeps what the line lacks',
      { name: 'Ada' },
      {},
      { name: 'Ada', external_id: 'ext|1', wallet_address: WALLET },
      false,
    ],
    [
      'changes what it has',
      { name: 'Ada' },
      { name: 'Lin', externalId: 'ext|3' },
      { name: 'Lin', external_id: 'ext|3' },
      false,
    ],
    ['clears what it clears', { name: 'Ada' }, { name: null }, { name: null }, false],
    ['verifies the address', {}, { emailVerified: true }, { email_verified_at: NOW }, false],
    [
      'does not take it back',
      { email_verified_at: at(-1) },
      { emailVerified: false },
      { email_verified_at: at(-1) },
      false,
    ],
    ['deactivates', {}, { isActive: false }, { deactivated_at: NOW }, true],
    ['activates', { deactivated_at: at(-1) }, { isActive: true }, { deactivated_at: null }, false],
    ['leaves the deactivated so', { deactivated_at: at(-1) }, {}, { deactivated_at: at(-1) }, false],
  ])('%s', async (_, before, line, after, isSignedOut) => {
    const row = { name: null, ...before };
    await sql`update users set ${sql(row as never)} where id = ${userId}`;
    const others = () => sql`select * from users where id = ${other}`;
    const left = await others();
    expect(await update(line)).toEqual({ status: 'updated', id: userId });
    expect(await read()).toMatchObject(after);
    expect([signedOut, await others()]).toEqual([isSignedOut ? [userId] : [], left]);
  });

  test('changes nothing in a dry run', async () => {
    const before = await read();
    expect(await update({ name: 'New', isActive: false }, { dryRun: true })).toEqual({ status: 'updated', id: userId });
    expect([await read(), signedOut]).toEqual([before, []]);
    expect((await importOne({ email: EMAIL }, { dryRun: true }))?.status).toBe('created');
    expect(await sql`select from users where email = ${EMAIL}`).toHaveLength(0);
  });

  test('brings nobody beyond 100 groups, of which those that are there count once', async () => {
    const names = Array.from({ length: 101 }, (_, at) => `group ${at}`);
    await sql`insert into groups (id, name, created_at) select gen_random_uuid(), n, ${NOW} from unnest(${names}::text[]) n`;
    await sql`insert into group_members select id, ${userId}, ${NOW} from groups where name <> ${names[99] ?? ''} and name <> ${names[100] ?? ''}`;
    await sql`insert into group_members select id, ${other}, ${NOW} from groups`;
    const beyond = { status: 'failed', reason: 'TOO_MANY_GROUPS', field: 'groups', id: userId };
    expect(await update({ groups: names.slice(99) })).toEqual(beyond);
    expect((await update({ groups: names.slice(0, 100) }))?.status).toBe('updated');
    expect(await update({ groups: names.slice(100) })).toEqual(beyond);
    expect((await update({ groups: [] }))?.status).toBe('updated');
    expect(await sql`select from group_members where user_id = ${userId}`).toHaveLength(100);
  });

  test('marks who gets a second factor, and nobody else', async () => {
    const secret = 'A'.repeat(32);
    expect((await update({ totpSecret: secret }))?.status).toBe('updated');
    const read = () => sql`select id, has_second_factor from users order by id = ${other}`;
    const marked = [
      { id: userId, has_second_factor: true },
      { id: other, has_second_factor: false },
    ];
    expect(await read()).toEqual(marked);
    const sealed = await sql`select sealed from totp_secrets`;
    expect((await update({ totpSecret: 'B'.repeat(32) }))?.status).toBe('updated');
    expect(await sql`select sealed from totp_secrets`).toEqual(sealed);
  });
});
