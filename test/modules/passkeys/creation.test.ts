/** Adding, renaming and removing passkeys: what is stored, and what each check refuses. */
import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { requireRecentSignIn } from '../../../src/domain/login/recent-sign-in.ts';
import { deletePasskey } from '../../../src/domain/passkeys/delete-passkey.ts';
import { listPasskeys } from '../../../src/domain/passkeys/list-passkeys.ts';
import { type CreationOptions, createCreationOptions } from '../../../src/modules/passkeys/domain/creation-options.ts';
import { renamePasskey } from '../../../src/modules/passkeys/domain/rename-passkey.ts';
import { storePasskey } from '../../../src/modules/passkeys/domain/store-passkey.ts';
import { MINUTE } from '../../support/clock.ts';
import { FLAGS, type Oddities, type PasskeyAlgorithm, SoftwarePasskey } from '../../support/passkey.ts';
import { PasskeyFixture } from '../../support/passkey-fixture.ts';
import { reasonOf } from '../../support/refusals.ts';
import { adminClient, clientsOf, createLoginIntent, createTestUser, type TestUser } from '../../support/service.ts';

const fixture = await PasskeyFixture.open();
const { clock, relyingParty, service, tenant } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(() => fixture[Symbol.asyncDispose]());

const user = await createTestUser(service);

/** Tries to add a passkey after a new sign-in. */
async function tryToAdd(odd?: Oddities, of: Pick<TestUser, 'id'> = user, passkey = new SoftwarePasskey()) {
  return reasonOf(fixture.add(of, { passkey, ...(odd && { odd }) }));
}

async function removeAll(): Promise<void> {
  await sql`delete from passkeys`;
}

describe('stores a passkey', () => {
  test.each<PasskeyAlgorithm>(['ES256', 'EdDSA', 'RS256'])(
    'with a key of %s, and what it says of itself',
    async (algorithm) => {
      await removeAll();
      const passkey = await fixture.add(user, { passkey: new SoftwarePasskey({ algorithm }), odd: { signCount: 3 } });
      const [row] = await sql`select * from passkeys where user_id = ${user.id}`;
      expect(row).toMatchObject({
        credential_id: passkey.id,
        rp_id: relyingParty.rpId,
        sign_count: '3',
        transports: ['internal', 'hybrid'],
        aaguid: passkey.aaguid,
        is_backup_eligible: true,
        is_backed_up: true,
        is_user_verified: true,
        name: 'Google Password Manager',
        created_at: clock.read(),
        last_used_at: null,
      });
    },
  );

  test.each<[string, Oddities]>([
    // {"alg": -7, "sig": h'0102', "x5c": [h'03']}
    [
      'with the attestation of a manufacturer',
      { fmt: 'packed', attStmt: Buffer.from('a363616c67266373696742010263783563814103', 'hex') },
    ],
    ['in another order', { order: ['authData', 'fmt', 'attStmt'] }],
    [
      'of an authenticator without user verification or backup',
      { flags: FLAGS.verified | FLAGS.backupEligible | FLAGS.backedUp },
    ],
    ['without transports', { transports: undefined }],
    ['with a transport of the future', { transports: ['smart-card', 'telepathy'] }],
  ])('%s', async (_, odd) => {
    await removeAll();
    expect(await tryToAdd(odd)).toBeUndefined();
  });

  test('named Passkey if the authenticator is unknown', async () => {
    await removeAll();
    await fixture.add(user, { passkey: new SoftwarePasskey({ aaguid: '00000000-0000-0000-0000-000000000000' }) });
    expect((await fixture.listOf(user)).map(({ name }) => name)).toEqual(['Passkey']);
  });

  test('with an ID of 1,023 bytes', async () => {
    await removeAll();
    const passkey = new SoftwarePasskey({ id: Buffer.alloc(1_023, 7) });
    expect(await tryToAdd({}, user, passkey)).toBeUndefined();
  });

  test('until the sign-in is 10 minutes old', async () => {
    await removeAll();
    const use = await fixture.signIn(user);
    clock.advance(10 * MINUTE - 1);
    await fixture.add(user, { use });
    clock.advance(1);
    expect(await reasonOf(fixture.add(user, { use }))).toBe('LOGIN_INTENT_EXPIRED');
  });

  test('up to ten for a user', async () => {
    await removeAll();
    await fixture.add(await createTestUser(service));
    await tryToAdd();
    await sql`update passkeys set rp_id = 'usher.example' where user_id = ${user.id}`;
    for (let count = 0; count < 10; count++) expect(await tryToAdd()).toBeUndefined();
    expect(await tryToAdd()).toBe('TOO_MANY_PASSKEYS');
    const passkeys = await fixture.listOf(user);
    expect(passkeys).toHaveLength(10);
    await deletePasskey(fixture.call, { userId: user.id, passkeyId: passkeys[4]?.id });
    expect(await tryToAdd()).toBeUndefined();
  });
});

test('asks for a discoverable passkey beside those that the user has', async () => {
  await removeAll();
  const passkey = await fixture.add(user);
  const passkeys = await fixture.listOf(user);
  const use = await fixture.signIn(user);
  const signIn = await requireRecentSignIn(fixture.call, use.browser, use);
  const optionsFor = (isOnThisDevice: boolean): CreationOptions =>
    createCreationOptions(fixture.call, relyingParty, use.browser, signIn, { passkeys, isOnThisDevice });
  expect(optionsFor(false)).toEqual({
    challenge: fixture.askedBy(use, user.id).challenge,
    rp: { id: 'usher.test', name: 'usher.test' },
    user: { id: passkey.userHandle, name: user.email, displayName: user.email },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: [
      { type: 'public-key', id: passkey.id.toString('base64url'), transports: ['internal', 'hybrid'] },
    ],
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'preferred' },
    attestation: 'none',
  });
  expect(Buffer.from(passkey.userHandle, 'base64url')).toHaveLength(16);
  expect(optionsFor(true).authenticatorSelection).toMatchObject({ authenticatorAttachment: 'platform' });
});

describe('refuses', () => {
  test.each<[string, Oddities]>([
    ['a statement that is not a map', { attStmt: Buffer.of(0x80) }],
    [
      'a statement with more items than bytes',
      { attStmt: Buffer.from('a1617ffbffffffffffffffff9bffffffffffffffff', 'hex') },
    ],
    ['a statement of indefinite length', { attStmt: Buffer.from('bfff', 'hex') }],
    ['no format', { order: ['attStmt', 'authData'] }],
    ['no format, but two statements', { order: ['attStmt', 'attStmt', 'authData'] }],
    ['two formats', { order: ['fmt', 'fmt', 'authData'] }],
    ['an unknown name', { order: ['fmt', 'attStmt', 'other'] }],
    ['nobody present', { flags: FLAGS.present }],
    ['no key', { flags: FLAGS.attested }],
    ['a backup of what cannot be backed up', { flags: FLAGS.backupEligible }],
    ['another relying party', { rpId: 'example.com' }],
    ['a page of another origin', { clientData: { origin: 'https://evil.test' } }],
    ['a page in a frame of another origin', { clientData: { crossOrigin: true } }],
    ['a page below another one', { clientData: { topOrigin: 'https://evil.test' } }],
    ['an answer to a sign-in', { clientData: { type: 'webauthn.get' } }],
    ['a challenge that nobody has made', { clientData: { challenge: Buffer.alloc(38).toString('base64url') } }],
    ['another ID than that of the authenticator', { credential: { id: 'AAAA', rawId: 'AAAA' } }],
    ['two IDs', { credential: { rawId: 'AAAA' } }],
    ['nine transports', { transports: Array(9).fill('usb') }],
    ['a transport that is no text', { transports: [1] }],
    ['a transport that is markup', { transports: ['<b>'] }],
  ])('%s', async (_, odd) => {
    await removeAll();
    expect(await tryToAdd(odd)).toBe('INVALID_PASSKEY');
    expect(await fixture.listOf(user)).toEqual([]);
  });

  test('an algorithm that was not asked for', async () => {
    await removeAll();
    expect(await tryToAdd({}, user, new SoftwarePasskey({ algorithm: 'ES384' }))).toBe('INVALID_PASSKEY');
    // ML-DSA-44, which the library would take: {1: 7, 3: -48, -1: 1,312 bytes}.
    const publicKey = Buffer.concat([Buffer.from('a3010703382f20590520', 'hex'), randomBytes(1_312)]);
    expect(await tryToAdd({ publicKey })).toBe('INVALID_PASSKEY');
    expect(await fixture.listOf(user)).toEqual([]);
  });

  test.each(['', 'ff', 'a3', 'a363', `a363666d74646e6f6e65${'a3'.repeat(2_000)}`, 'bf63666d74646e6f6e65ff'])(
    'the attestation object %j',
    async (hex) => {
      const use = await fixture.signIn(user);
      const passkey = new SoftwarePasskey();
      const credential = JSON.parse(passkey.create(fixture.askedBy(use, user.id)));
      credential.response.attestationObject = Buffer.from(hex, 'hex').toString('base64url');
      expect(await reasonOf(fixture.store(use, JSON.stringify(credential)))).toBe('INVALID_PASSKEY');
    },
  );

  test('the answer to the challenge of a sign-in, of another user, login or browser, or of 10 minutes ago', async () => {
    const use = await fixture.signIn(user);
    const other = await fixture.begin();
    const stranger = await createTestUser(service);
    const asked = [
      fixture.askedBy(use),
      fixture.askedBy(use, stranger.id),
      fixture.askedBy(other, user.id),
      fixture.askedBy({ ...use, browser: other.browser }, user.id),
    ];
    for (const each of asked) {
      expect(await reasonOf(fixture.store(use, new SoftwarePasskey().create(each)))).toBe('INVALID_PASSKEY');
    }
    const old = fixture.askedBy(use, user.id);
    clock.advance(10 * MINUTE - 1);
    const late = await fixture.signIn(user, { ...(await fixture.begin(use.browser)) });
    expect(await reasonOf(fixture.store(late, new SoftwarePasskey().create(old)))).toBe('INVALID_PASSKEY');
  });

  test('the same passkey twice, also for another user', async () => {
    await removeAll();
    const passkey = await fixture.add(user);
    expect(await tryToAdd({}, user, passkey)).toBe('PASSKEY_ALREADY_EXISTS');
    expect(await tryToAdd({}, await createTestUser(service), passkey)).toBe('PASSKEY_ALREADY_EXISTS');
    expect(await sql`select user_id from passkeys`).toEqual([{ user_id: user.id }]);
  });

  test('a login that is open, unknown, of another browser, or that another page has completed', async () => {
    const open = await fixture.begin();
    const credential = (use: Awaited<ReturnType<typeof fixture.begin>>) =>
      new SoftwarePasskey().create(fixture.askedBy(use, user.id));
    expect(await reasonOf(fixture.store(open, credential(open)))).toBe('LOGIN_INTENT_NOT_FOUND');
    const unknown = { ...open, loginIntentId: crypto.randomUUID() };
    expect(await reasonOf(fixture.store(unknown, credential(unknown)))).toBe('LOGIN_INTENT_NOT_FOUND');
    const elsewhere = { ...(await fixture.signIn(user)), browser: fixture.newBrowser() };
    expect(await reasonOf(fixture.store(elsewhere, credential(elsewhere)))).toBe('LOGIN_INTENT_COMPLETED');
    const byPage = { loginIntentId: await createLoginIntent(service, tenant), browser: fixture.newBrowser() };
    await admin.completeLogin({ loginIntentId: byPage.loginIntentId, userId: user.id });
    expect(await reasonOf(fixture.store(byPage, credential(byPage)))).toBe('LOGIN_INTENT_COMPLETED');
  });

  test.each(['deactivateUser', 'deleteUser', 'eraseUser'] as const)('a user after %s', async (end) => {
    const ended = await createTestUser(service);
    const use = await fixture.signIn(ended);
    await admin[end]({ userId: ended.id });
    expect(await reasonOf(fixture.add(ended, { use }))).toBe('LOGIN_INTENT_EXPIRED');
    expect(await sql`select from passkeys where user_id = ${ended.id}`).toEqual([]);
  });

  test('a sign-in that a revocation has ended', async () => {
    const revoked = await createTestUser(service);
    const use = await fixture.signIn(revoked);
    await admin.deactivateUser({ userId: revoked.id });
    await admin.reactivateUser({ userId: revoked.id });
    expect(await reasonOf(fixture.add(revoked, { use }))).toBe('LOGIN_INTENT_EXPIRED');
  });

  test.each<[string, (userId: string, browserDigest: Buffer) => Promise<unknown>, reason: string]>([
    [
      'a revocation',
      (userId) => clientsOf(service, tenant).sessions.revokeUserSessions({ userId }),
      'LOGIN_INTENT_EXPIRED',
    ],
    [
      'a sign-out in its browser',
      (userId, digest) => sql`insert into browser_cutoffs values (${userId}, ${digest}, ${clock.read()}, now())`,
      'LOGIN_INTENT_EXPIRED',
    ],
    [
      'nine others',
      (userId) => sql`
        insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
          is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
        select ${userId}, gen_random_uuid(), uuid_send(gen_random_uuid()), ${relyingParty.rpId}, '', 0, '{}',
          gen_random_uuid(), false, false, false, 'Other', now() from generate_series(1, 9)`,
      'TOO_MANY_PASSKEYS',
    ],
  ])('one that %s comes to while it is stored, and leaves the others', async (_, meet, reason) => {
    const owner = await createTestUser(service);
    await fixture.add(owner);
    const before = await fixture.listOf(owner);
    const { browser, loginIntentId } = await fixture.signIn(owner);
    const credential = new SoftwarePasskey().create(fixture.askedBy({ browser, loginIntentId }, owner.id));
    const { run, ...call } = fixture.call;
    const meeting: typeof run = async (statement, parameters) => {
      const rows = await run(statement, parameters);
      if (statement.name === 'insertPasskey') await meet(owner.id, browser.digest);
      return rows;
    };
    const request = { loginIntentId, credential };
    const stored = storePasskey({ ...call, run: meeting }, relyingParty, browser, request, () => 'Passkey');
    expect(await reasonOf(stored)).toBe(reason);
    expect((await fixture.listOf(owner)).filter(({ name }) => name !== 'Other')).toEqual(before);
  });
});

describe('the passkeys of a user', () => {
  test('are listed without those for another host, which operators see', async () => {
    await removeAll();
    await fixture.add(user);
    clock.advance(1);
    await fixture.add(user);
    const [first, second] = await fixture.listOf(user);
    await sql`update passkeys set rp_id = 'usher.example' where id = ${first?.id ?? ''}`;
    expect((await fixture.listOf(user)).map(({ id }) => id)).toEqual([second?.id]);
    expect((await listPasskeys(fixture.call, { userId: user.id })).map(({ id }) => id)).toEqual([
      first?.id,
      second?.id,
    ]);
  });

  test('have names of 1 to 64 characters', async () => {
    await removeAll();
    await fixture.add(user);
    const [passkey] = await fixture.listOf(user);
    const rename = (name: unknown) =>
      reasonOf(renamePasskey(fixture.call, { userId: user.id, passkeyId: passkey?.id, name }));
    for (const name of ['a', '😀'.repeat(64)]) {
      expect(await rename(name)).toBeUndefined();
      expect((await fixture.listOf(user))[0]?.name).toBe(name);
    }
    for (const name of ['', '😀'.repeat(65), 'a\nb', 1]) expect(await rename(name)).toBe('VALIDATION_FAILED');
  });

  test('are not those of another', async () => {
    await removeAll();
    await fixture.add(user);
    const [passkey] = await fixture.listOf(user);
    const { id: userId } = await createTestUser(service);
    const foreign = { userId, passkeyId: passkey?.id, name: 'mine' };
    expect(await reasonOf(renamePasskey(fixture.call, foreign))).toBe('PASSKEY_NOT_FOUND');
    expect(await reasonOf(deletePasskey(fixture.call, foreign))).toBe('PASSKEY_NOT_FOUND');
    expect(await fixture.listOf(user)).toEqual([passkey]);
  });

  test('are recorded in the audit log as they come, change and go', async () => {
    await removeAll();
    await sql`delete from audit_events`;
    const use = await fixture.signIn(user);
    await sql`delete from audit_events`;
    await fixture.add(user, { use });
    const [passkey] = await fixture.listOf(user);
    const ids = { userId: user.id, passkeyId: passkey?.id };
    await renamePasskey(fixture.call, { ...ids, name: 'Ring' });
    await deletePasskey(fixture.call, ids);
    expect(await reasonOf(deletePasskey(fixture.call, ids))).toBe('PASSKEY_NOT_FOUND');
    const events = await sql`select resource from audit_events`;
    expect(events.map(({ resource }) => resource)).toEqual(Array(3).fill(passkey?.id));
  });
});
