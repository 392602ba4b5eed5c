/** Each condition of setting up an authenticator app, a row each. What people see: the tests beside this one. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { Call } from '../../../../src/domain/core/call.ts';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { deriveKeys } from '../../../../src/domain/crypto/derived-keys.ts';
import { computeTotp } from '../../../../src/domain/second-factor/totp.ts';
import { decodeBase32 } from '../../../../src/encoding/base32.ts';
import { confirmTotp, createSecret, openSecret } from '../../../../src/modules/second-factor/domain/confirm-totp.ts';
import { at, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();
const MINUTE = 60_000;
const parts = { keys: deriveKeys([randomBytes(32)], 'test'), cipher: new RowCipher([randomBytes(32)]) } as never;
const browserOf = (digest: Buffer) =>
  ({ digest, address: '::1', userAgent: '', answerDigest: randomBytes(32), knownAnswers: [] }) as const;
const browser = browserOf(randomBytes(32));

let here: string;
let login: { userId: string; loginIntentId: string };
beforeEach(async () => {
  here = await createApplication();
  login = { userId: await createUser(), loginIntentId: randomUUID() };
});

test.each<[string, given: object, ms: number, isOpened: boolean]>([
  ['is opened', {}, 0, true],
  ['is opened for 10 minutes', {}, 10 * MINUTE - 1, true],
  ['is opened no longer', {}, 10 * MINUTE, false],
  ['of another user is not', { userId: randomUUID() }, 0, false],
  ['of another login is not', { loginIntentId: randomUUID() }, 0, false],
  ['of another browser is not', { browser: browserOf(randomBytes(32)) }, 0, false],
])('a secret %s', async (_, { browser: of = browser, ...given }: { browser?: typeof browser }, ms, isOpened) => {
  for (const changedAt of [null, at(-HOUR)]) {
    await sql`update users set email_changed_at = ${changedAt} where id = ${login.userId}`;
    const { sealed, secret } = await createSecret(callAt(), parts, browser, login);
    const opened = openSecret(callAt(at(ms)), parts, of, { login: { ...login, ...given }, sealed });
    expect(opened).toEqual(isOpened ? { secret, sealed, emailChangedAt: changedAt } : undefined);
    expect(openSecret(callAt(), parts, browser, { login, sealed: `${sealed}x` })).toBeUndefined();
  }
});

test.each<[string, prepare: () => Promise<unknown>, assurance: number, answer: string]>([
  ['is stored', async () => {}, 1, 'done'],
  ['takes the place of another', () => addApp(), 2, 'done'],
  ['takes it only by two factors', () => addApp(), 1, 'ASSURANCE_NOT_MET'],
  [
    'is not stored after a revocation',
    () => insert('user_cutoffs', { user_id: login.userId, cutoff_at: NOW }),
    1,
    'HELD_SIGN_IN_ENDED',
  ],
  ['is not stored after a change of the address', () => setUser({ email_changed_at: NOW }), 1, 'HELD_SIGN_IN_ENDED'],
])('an app %s', async (_, prepare, assurance, answer) => {
  const { sealed, secret } = await createSecret(callAt(), parts, browser, login);
  await prepare();
  let woken = 0;
  const call = { ...callAt(), notices: { toLanguage: () => 'en', wake: () => void woken++ } };
  expect(await confirm(call, { sealed, secret }, assurance)).toBe(answer);
  expect(woken).toBe(answer === 'done' ? 1 : 0);
});

test('an app of a user who is erased meanwhile is removed', async () => {
  const { sealed, secret } = await createSecret(callAt(), parts, browser, login);
  const { run, ...call } = callAt();
  const late: typeof run = async (statement, parameters) => {
    const rows = await run(statement, parameters);
    if ((await readApps()).length > 0) await setUser({ deleted_at: NOW, email: '', wallet_address: '' });
    return rows;
  };
  expect(await confirm({ ...call, run: late }, { sealed, secret }, 1)).toBe('done');
  expect(await readApps()).toEqual([]);
});

const setUser = (columns: object) => sql`update users set ${sql(columns as never)} where id = ${login.userId}`;
const readApps = async () => [...(await sql`select id from totp_secrets where user_id = ${login.userId}`)];
const addApp = async () => [
  await insert('totp_secrets', { user_id: login.userId }),
  await setUser({ has_second_factor: true }),
];

/** Enters the right code a minute after the sign-in. Returns the reason of a refusal. */
async function confirm(call: Call, { sealed, secret }: { sealed: string; secret: string }, assurance: number) {
  const code = computeTotp(decodeBase32(secret) as Buffer, Math.floor(Date.now() / 30_000));
  const intent = { assurance, vouchedUserId: null, applicationId: here, locale: null };
  const signIn = { ...login, applicationId: here, completedAt: at(-MINUTE), cutoffCount: 0, intent };
  return confirmTotp(call, parts, signIn as never, { browser, sealed, code }).then(
    () => 'done',
    ({ reason }) => reason,
  );
}
