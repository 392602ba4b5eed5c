/** What the use of a recovery link tells, and what comes while it is on its way. What it removes: `recovery-conditions.test.ts`. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { PostgresError } from '../../../../../src/database/sql/driver.ts';
import type { Removal } from '../../../../../src/domain/recovery/recovery-link.ts';
import { useRecovery } from '../../../../../src/modules/account/domain/use-recovery.ts';
import { at, DAY, HOUR, type Meanwhile, NOW, openDomain, reason, runWith } from '../../../../support/domain-scene.ts';
import { newBrowser } from '../../../../support/new-browser.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();
let here: string;
let stranger: string;
beforeEach(async () => {
  here = await createApplication();
  await insert('webhooks', { application_id: here });
  stranger = await createUser();
  readTold();
});

const setUser = (columns: object, id: string) => sql`update users set ${sql(columns as never)} where id = ${id}`;
const readUser = async (id: string) => (await sql`select * from users where id = ${id}`)[0];
const readLink = async (id: string) => (await sql`select * from recovery_links where id = ${id}`)[0];
const readLogin = async (id: string) => (await sql`select * from login_intents where id = ${id}`)[0];

async function addLink(userId: string, removes: readonly Removal[]) {
  const id = randomUUID();
  const secrets = { digest: randomBytes(32), code_hmac: randomBytes(32), address_key: randomBytes(32) };
  const times = { created_at: at(-HOUR), usable_at: at(-1), expires_at: at(HOUR) };
  const row = { id, user_id: userId, ...secrets, removes: [...removes], created_by: 'support', ...times };
  await sql`insert into recovery_links ${sql(row as never)}`;
  return { ...{ id, userId, codeHmac: secrets.code_hmac, addressKey: secrets.address_key }, removes: [...removes] };
}

/** A user of the application, who has lost something. */
async function createScene(...removes: Removal[]) {
  const wallet = `0x${randomBytes(20).toString('hex')}`;
  const user = await insert('users', { wallet_address: wallet });
  await insert('application_users', { application_id: here, user_id: user.id });
  const facts = { createdBy: 'support', usableAt: at(-1), email: user.email, name: null, walletAddress: wallet };
  return { ...(await addLink(user.id, removes)), ...facts };
}
type Scene = Awaited<ReturnType<typeof createScene>>;

async function use(link: Scene, meanwhile: Meanwhile = {}, newEmail: string | null = null) {
  const call = callAt();
  return useRecovery(
    { ...call, run: runWith(meanwhile, call.run) },
    { link, newEmail, browser: newBrowser(), accountUrl: 'https://usher.test/account' },
  );
}

test.each<[Removal, string[]]>([
  ['ADDRESS', ['session.revoked', 'user.updated']],
  ['WALLET', ['session.revoked', 'user.updated']],
  ['PASSKEYS', ['session.revoked']],
])('the loss of %s tells the application what it can see of it', async (what, types) => {
  const scene = await createScene(what);
  await insert('sessions', { application_id: here, user_id: scene.userId });
  await use(scene, {}, what === 'ADDRESS' ? `new.${scene.email}` : null);
  const messages = await sql`select type from webhook_messages where application_id = ${here} order by type`;
  expect(messages.map(({ type }) => type)).toEqual(types);
  expect(new Set(readTold())).toEqual(new Set([here]));
});

test.each(['useRecoveryLink', 'endLateOfRecovery'])(
  'a session that begins after %s is told and ends, too',
  async (name) => {
    const scene = await createScene('PASSKEYS');
    const session = { application_id: here, user_id: scene.userId };
    await use(scene, { [name]: () => insert('sessions', session) });
    expect(await sql`select from sessions where user_id = ${scene.userId}`).toEqual([]);
    expect(new Set(readTold())).toEqual(new Set([here]));
  },
);

test('an app that is set up meanwhile does not hold the login, which is complete', async () => {
  const scene = await createScene('PASSKEYS');
  const addApp = async () => {
    await insert('totp_secrets', { user_id: scene.userId });
    await setUser({ has_second_factor: true }, scene.userId);
  };
  expect(await use(scene, { endLateOfRecovery: addApp })).toBe(false);
  expect(await sql`select from held_sign_ins where user_id = ${scene.userId}`).toEqual([]);
});

test('a user who is deleted meanwhile stays as they are', async () => {
  const scene = await createScene('PASSKEYS');
  await use(scene, { useRecoveryLink: () => setUser({ deleted_at: NOW }, scene.userId) });
  expect(await readUser(scene.userId)).toMatchObject({ cutoff_count: 1 });
});

test('a former address of the user stays that of whoever proves it now', async () => {
  const scene = await createScene('ADDRESS');
  await insert('login_codes', { application_id: here, user_id: stranger, email: scene.email });
  await use(scene, {}, `new.${scene.email}`);
  expect(await sql`select from login_codes where user_id = ${stranger}`).toHaveLength(1);
});

test('a link in whose place another was made meanwhile is refused, and the other stays', async () => {
  const scene = await createScene('PASSKEYS');
  await sql`update recovery_links set status = 'REVOKED' where id = ${scene.id}`;
  const other = await addLink(scene.userId, ['WALLET']);
  expect(await reason(use(scene))).toBe('RECOVERY_LINK_NOT_VALID');
  expect(await readLink(other.id)).toMatchObject({ status: 'OPEN' });
});

test('the login of another recovery stays as it is', async () => {
  const before = await createScene('PASSKEYS');
  await use(before);
  const login = await readLogin(before.id);
  await use(await createScene('PASSKEYS'));
  expect(await readLogin(before.id)).toEqual(login);
});

test('an invitation that has created nobody is not written again', async () => {
  const scene = await createScene('PASSKEYS');
  await insert('invitations', { application_id: here, user_id: scene.userId, expires_at: at(DAY) });
  const readVersion = () => sql`select xmin::text from invitations where user_id = ${scene.userId}`;
  const before = await readVersion();
  await use(scene);
  expect(await readVersion()).toEqual(before);
});

test('is refused if somebody has the address in another spelling, of before Usher knew that they are one', async () => {
  const scene = await createScene('ADDRESS');
  await createUser({ email: `${scene.userId}@b\u00fccher.example` });
  const used = use(scene, {}, `${scene.userId}@xn--bcher-kva.example`);
  expect(await reason(used)).toBe('USER_ALREADY_EXISTS');
  expect(await readLink(scene.id)).toMatchObject({ status: 'OPEN' });
});

test.each([
  ['somebody takes the address in the same instant', '23505', 'USER_ALREADY_EXISTS'],
  ['Postgres fails', '57P01', undefined],
])('says why the link was not used: %s', async (_, code, expected) => {
  const { run: _run, ...call } = callAt();
  const run = () => Promise.reject(Object.assign(new PostgresError('refused'), { code }));
  const given = { newEmail: null, browser: newBrowser(), accountUrl: 'https://usher.test/account' };
  const used = useRecovery({ ...call, run }, { link: await createScene('PASSKEYS'), ...given });
  await expect(used).rejects.toMatchObject(expected ? { reason: expected } : { code });
});
