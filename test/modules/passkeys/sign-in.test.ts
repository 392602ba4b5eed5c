/** Signing in with a passkey: what is accepted, and what each check refuses. */
import { decodeJwt } from 'jose';
import { afterAll, describe, expect, test } from 'vitest';
import { createRelyingParty } from '../../../src/modules/passkeys/domain/relying-party.ts';
import { MINUTE } from '../../support/clock.ts';
import { FLAGS, type Oddities, type PasskeyAlgorithm, SoftwarePasskey } from '../../support/passkey.ts';
import { PasskeyFixture } from '../../support/passkey-fixture.ts';
import { reasonOf } from '../../support/refusals.ts';
import { adminClient, createTestUser, PUBLIC_URL } from '../../support/service.ts';

const fixture = await PasskeyFixture.open();
const { clock, service } = fixture;
const { sql } = service.database;
afterAll(() => fixture[Symbol.asyncDispose]());

const owner = await fixture.createOwner();

/** Tries the passkey at a new login. */
async function tryPasskey(odd?: Oddities, { passkey, user } = owner) {
  const use = await fixture.begin();
  const asked = fixture.askedBy(use);
  return { use, asked, user, result: fixture.redeem(use, passkey.answer(asked, odd)) };
}

async function isOpen(loginIntentId: string): Promise<boolean> {
  const [intent] = await sql`select completed_at from login_intents where id = ${loginIntentId}`;
  return intent?.completed_at === null;
}

describe('signs the user in', () => {
  test.each<PasskeyAlgorithm>(['ES256', 'EdDSA', 'RS256'])('with a signature of %s', async (algorithm) => {
    const other = await fixture.createOwner({ algorithm });
    const { result, user, use } = await tryPasskey({}, other);
    const { authToken, redirectUrl, hasSteppedBack } = await result;
    expect(decodeJwt(authToken)).toMatchObject({ sub: user.id, jti: use.loginIntentId, amr: ['passkey'] });
    expect(redirectUrl).toContain(`authToken=${authToken}`);
    expect(hasSteppedBack).toBe(false);
  });

  test.each<[string, Oddities]>([
    ['without user verification, which the page only prefers', { flags: FLAGS.verified }],
    ['with client data that browsers of the future have', { clientData: { future: [1] } }],
    ['if the browser does not say whether the page is in a frame', { clientData: { crossOrigin: undefined } }],
    ['not backed up any more', { flags: FLAGS.backedUp }],
  ])('%s', async (_, odd) => {
    const { result, user } = await tryPasskey(odd);
    expect(decodeJwt((await result).authToken).sub).toBe(user.id);
  });

  test('until the login expires, on a page that has been idle', async () => {
    const use = await fixture.begin();
    const answer = owner.passkey.answer(fixture.askedBy(use));
    clock.advance(30 * MINUTE - 1);
    await fixture.redeem(use, answer);
  });

  test('with a challenge of the key before, and not once that key is gone', async () => {
    const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const partyOf = (...keys: Buffer[]) => createRelyingParty(`${PUBLIC_URL}/login`, undefined, keys);
    for (const [keys, reason] of [
      [[next, old], undefined],
      [[next], 'INVALID_PASSKEY'],
    ] as const) {
      const use = await fixture.begin();
      const answer = owner.passkey.answer(fixture.askedBy(use, undefined, partyOf(old)));
      expect(await reasonOf(fixture.redeem(use, answer, partyOf(...keys)))).toBe(reason);
    }
  });

  test('and is counted as a sign-in', async () => {
    fixture.counted.length = 0;
    await (await tryPasskey()).result;
    expect(fixture.counted).toEqual(['sign_ins']);
  });

  test('and stores counter, backup state and time', async () => {
    const { user, passkey } = await fixture.createOwner();
    await (await tryPasskey({ signCount: 7, flags: FLAGS.backedUp }, { user, passkey })).result;
    const [row] = await sql`select * from passkeys where user_id = ${user.id}`;
    expect(row).toMatchObject({ sign_count: '7', is_backed_up: false, last_used_at: clock.read() });
  });

  test('however the counter goes, and says when it has not risen', async () => {
    const counted = await fixture.createOwner();
    const steps: boolean[] = [];
    for (const signCount of [0, 0, 5, 6, 6, 3, 0]) {
      const { result } = await tryPasskey({ signCount }, counted);
      steps.push((await result).hasSteppedBack);
    }
    expect(steps).toEqual([false, false, false, false, true, true, true]);
  });
});

describe('refuses', () => {
  const { passkey: stranger } = { passkey: new SoftwarePasskey() };

  test.each<[string, Oddities]>([
    ['a forged signature', { forges: true }],
    ['nobody present', { flags: FLAGS.present }],
    ['another relying party', { rpId: 'example.com' }],
    ['a page of another origin', { clientData: { origin: 'https://evil.test' } }],
    ['a page of another port', { clientData: { origin: `${PUBLIC_URL}:8443` } }],
    ['a page in a frame of another origin', { clientData: { crossOrigin: true } }],
    ['a page below another one', { clientData: { topOrigin: 'https://evil.test' } }],
    ['an answer to the creation of a passkey', { clientData: { type: 'webauthn.create' } }],
    ['a challenge that nobody has made', { clientData: { challenge: Buffer.alloc(38).toString('base64url') } }],
    ['no challenge', { clientData: { challenge: undefined } }],
    ['a challenge of another type', { clientData: { challenge: [1] } }],
    ['no user handle', { userHandle: undefined }],
    ['the user handle of nobody', { userHandle: Buffer.alloc(16).toString('base64url') }],
    ['two IDs', { credential: { rawId: stranger.id.toString('base64url') } }],
    ['an ID with padding', { credential: { id: 'AA==', rawId: 'AA==' } }],
    ['an ID of 1,024 bytes', { credential: idOf(Buffer.alloc(1_024)) }],
    ['no ID', { credential: { id: '', rawId: '' } }],
    ['another type of credential', { credential: { type: 'password' } }],
    ['no answer', { credential: { response: undefined } }],
    ['an answer that is a list', { credential: { response: [] } }],
  ])('%s', async (_, odd) => {
    const { result, use } = await tryPasskey(odd);
    expect(await reasonOf(result)).toBe('INVALID_PASSKEY');
    expect(await isOpen(use.loginIntentId)).toBe(true);
  });

  test.each(['', 'no JSON', '[]', 'null', '{}', '{"id":1}', `{"id":"${'['.repeat(4_000)}`])('%j', async (text) => {
    const reason = await reasonOf(fixture.redeem(await fixture.begin(), text));
    expect(reason).toBe(text === '' ? 'VALIDATION_FAILED' : 'INVALID_PASSKEY');
  });

  test('the user handle of another user', async () => {
    const { passkey } = await fixture.createOwner();
    const { result } = await tryPasskey({ userHandle: passkey.userHandle });
    expect(await reasonOf(result)).toBe('INVALID_PASSKEY');
  });

  test('a challenge of a login that has expired', async () => {
    const use = await fixture.begin();
    const answer = owner.passkey.answer(fixture.askedBy(use));
    clock.advance(30 * MINUTE);
    expect(await reasonOf(fixture.redeem(use, answer))).toBe('LOGIN_INTENT_EXPIRED');
  });

  test('the answer to the challenge of another login, of another browser, or of a creation', async () => {
    const [use, other] = [await fixture.begin(), await fixture.begin()];
    const asked = [
      fixture.askedBy(other),
      fixture.askedBy({ ...use, browser: other.browser }),
      fixture.askedBy({ ...use, loginIntentId: other.loginIntentId }),
      fixture.askedBy(use, owner.user.id),
    ];
    for (const each of asked) {
      expect(await reasonOf(fixture.redeem(use, owner.passkey.answer(each)))).toBe('INVALID_PASSKEY');
    }
    expect(await isOpen(use.loginIntentId)).toBe(true);
  });

  test('an answer that has been used, here and in another browser', async () => {
    const { result, asked, use } = await tryPasskey();
    await result;
    const answer = owner.passkey.answer(asked);
    expect(await reasonOf(fixture.redeem(use, answer))).toBe('LOGIN_INTENT_COMPLETED');
    const elsewhere = { ...use, browser: fixture.newBrowser() };
    expect(await reasonOf(fixture.redeem(elsewhere, answer))).toBe('LOGIN_INTENT_COMPLETED');
    expect(await reasonOf(fixture.redeem(await fixture.begin(use.browser), answer))).toBe('INVALID_PASSKEY');
  });

  test('a passkey that nobody has, or that was made for another host', async () => {
    const use = await fixture.begin();
    const answer = stranger.answer({ ...fixture.askedBy(use), userHandle: owner.passkey.userHandle });
    expect(await reasonOf(fixture.redeem(use, answer))).toBe('UNKNOWN_PASSKEY');
    const moved = await fixture.createOwner();
    await sql`update passkeys set rp_id = 'login.usher.test' where user_id = ${moved.user.id}`;
    expect(await reasonOf((await tryPasskey({}, moved)).result)).toBe('UNKNOWN_PASSKEY');
  });

  test.each(['deactivateUser', 'deleteUser', 'eraseUser'] as const)('a passkey after %s', async (end) => {
    const ended = await fixture.createOwner();
    await adminClient(service)[end]({ userId: ended.user.id });
    const { result, use } = await tryPasskey({}, ended);
    expect(await reasonOf(result)).toBe('UNKNOWN_PASSKEY');
    expect(await isOpen(use.loginIntentId)).toBe(true);
    const rows = await sql`select from passkeys where user_id = ${ended.user.id}`;
    expect(rows).toHaveLength(end === 'deactivateUser' ? 1 : 0);
  });
});

test('tells nobody which passkeys exist: an unknown user has the same refusals', async () => {
  const user = await createTestUser(service);
  const unknown = new SoftwarePasskey();
  unknown.userHandle = owner.passkey.userHandle;
  const reasons = await Promise.all(
    [unknown, Object.assign(new SoftwarePasskey(), { userHandle: Buffer.from(user.id).toString('base64url') })].map(
      async (passkey) => reasonOf((await tryPasskey({}, { user: owner.user, passkey })).result),
    ),
  );
  expect(reasons).toEqual(['UNKNOWN_PASSKEY', 'UNKNOWN_PASSKEY']);
});

function idOf(id: Buffer) {
  const text = id.toString('base64url');
  return { id: text, rawId: text };
}
