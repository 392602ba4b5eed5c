/** Import and export of users as JSON lines. */
import { randomBytes, randomUUID } from 'node:crypto';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PasskeyAlgorithm, SoftwarePasskey } from '../../support/passkey.ts';
import {
  ADMIN_KEY,
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestGroup,
  createTestUser,
  createTestWebhook,
  newGroupName,
  startTestService,
} from '../../support/service.ts';

const provider = { id: 'acme', name: 'Acme', type: 'openid', issuer: 'https://acme.test', clientId: 'c' } as const;
const READ_KEY = 'an-admin-key-that-reads-of-sufficient-length';
const config = {
  adminKeys: [{ name: 'reader', key: READ_KEY, rights: ['read'] as const }],
  loginProviders: [{ ...provider, clientSecret: 's', trustEmail: false, emailDomains: [] }],
};
const service = await startTestService({ config });
afterAll(service.close);
const admin = adminClient(service);
const application = await createTenant(service);
beforeAll(async () => {
  await admin.createGroup({ name: 'editors' });
});

interface Answer {
  readonly line: number;
  readonly status: string;
  readonly id?: string;
  readonly reason?: string;
  readonly field?: string;
}

type At = { readonly url: string };

async function send(body: string, query = '', at: At = service) {
  const init = { method: 'POST', headers: { 'x-admin-key': ADMIN_KEY }, body };
  return fetch(`${at.url}/admin/users.jsonl${query}`, init);
}

async function importText(body: string, query = '', at: At = service): Promise<Answer[]> {
  const text = await (await send(body, query, at)).text();
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

const importUsers = (users: readonly object[], query = '', at: At = service) =>
  importText(users.map((user) => JSON.stringify(user)).join('\n'), query, at);

async function exportUsers(at: At = service): Promise<string> {
  return (await fetch(`${at.url}/admin/users.jsonl`, { headers: { 'x-admin-key': ADMIN_KEY } })).text();
}

const newEmail = () => `${randomUUID()}@example.com`;
const rpId = 'usher.test';

const newPublicKey = (algorithm: PasskeyAlgorithm = 'ES256') => new SoftwarePasskey({ algorithm }).publicKey;

const newPasskey = (publicKey = newPublicKey()) => ({
  credentialId: randomBytes(100).toString('base64url'),
  publicKey: publicKey.toString('base64url'),
  rpId,
});

const fullUser = () => ({
  id: randomUUID(),
  externalId: `auth0|${randomUUID()}`,
  email: newEmail(),
  emailVerified: true,
  name: 'Ada "ü"',
  profileImage: 'https://img.test/ada.png',
  createdAt: '2021-03-01T09:00:00.123Z',
  isActive: false,
  walletAddress: `0x${randomBytes(20).toString('hex')}`,
  attributes: { plan: 'pro', seats: 1.5, teams: ['a'] },
  groups: ['editors'],
  applications: [application.id],
  identities: [{ provider: 'acme', subject: randomUUID() }],
  passkeys: [newPasskey()],
});

describe('an export', () => {
  // On Citus, a changed user costs several statements on every server.
  test('is imported into an empty database, whose export has the same bytes, also when it is imported twice', {
    timeout: 900_000,
  }, async () => {
    await importUsers(Array.from({ length: 230 }, () => fullUser()));
    const exported = await exportUsers();
    expect(exported.split('\n').length).toBeGreaterThan(230);
    const other = await startTestService({ config });
    try {
      await adminClient(other).createGroup({ name: 'editors' });
      const { sql } = service.database;
      const applications = await sql`select * from applications where id = ${application.id}`;
      await other.database.sql`insert into applications ${other.database.sql(applications as never)}`;
      // It breaks off in the middle, and is repeated.
      await importText(exported.slice(0, exported.length / 2), '', other);
      const answers = await importText(exported, '?onConflict=skip', other);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['created', 'skipped']));
      expect(await exportUsers(other)).toBe(exported);
      const again = await importText(exported, '?onConflict=update', other);
      expect(new Set(again.map(({ status }) => status))).toEqual(new Set(['updated']));
      expect(await exportUsers(other)).toBe(exported);
    } finally {
      await other.close();
    }
  });

  test('and an import need an admin key with every right', async () => {
    const answers = [
      ['', 401],
      ['wrong', 401],
      [READ_KEY, 403],
    ] as const;
    for (const [key, status] of answers) {
      for (const method of ['GET', 'POST']) {
        const headers = { 'x-admin-key': key };
        expect((await fetch(`${service.url}/admin/users.jsonl`, { method, headers })).status).toBe(status);
      }
    }
  });
});

test('BatchCreateUsers stores what a file with the same lines stores', async () => {
  const [ofFile, ofCall] = [fullUser(), fullUser()];
  await importUsers([ofFile]);
  const { createdAt, passkeys, ...fields } = ofCall;
  const user = {
    ...fields,
    createdAt: timestampFromDate(new Date(createdAt)),
    passkeys: passkeys.map((passkey) => ({ ...passkey, signCount: 4_294_967_295 })),
  };
  expect(await admin.batchCreateUsers({ users: [user] })).toMatchObject({
    results: [{ status: 'created', id: ofCall.id }],
  });
  const [first, second] = (await exportUsers())
    .split('\n')
    .filter((line) => [ofFile, ofCall].some(({ id }) => line.includes(id)))
    .map((line) => JSON.parse(line))
    .sort(({ id }) => (id === ofFile.id ? -1 : 1));
  const { id: _, externalId: _e, email: _m, walletAddress: _w, identities: _i, passkeys: _p, ...common } = first;
  expect(second).toEqual({
    ...common,
    ...fields,
    passkeys: [{ ...first.passkeys[0], ...passkeys[0], signCount: 4_294_967_295 }],
  });
});

test('createdAt of the years 1 to 9999 comes back in lists and in an export, and no other is taken', async () => {
  const instants = ['0001-01-01T00:00:00.000Z', '0012-12-31T00:00:00.000Z', '0026-06-15T18:00:00.123Z'];
  instants.push('0099-12-31T23:59:59.000Z', '0999-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z');
  instants.push('2099-01-01T00:00:00.000Z', '9999-12-31T00:00:00.000Z', '9999-12-31T23:59:59.999Z');
  const users = instants.map((createdAt) => ({ ...fullUser(), createdAt }));
  const answers = await importUsers(users);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['created']));
  const exported = (await exportUsers()).split('\n').filter(Boolean);
  const imported = exported.map((line) => JSON.parse(line)).filter(({ id }) => users.some((user) => user.id === id));
  expect(imported.map(({ createdAt }) => createdAt).sort()).toEqual(instants);
  const listed: string[] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page = await admin.listUsers({ pageSize: 2, pageToken });
    const own = page.users.filter(({ id }) => users.some((user) => user.id === id));
    listed.push(...own.flatMap(({ createdAt }) => (createdAt ? timestampDate(createdAt).toISOString() : [])));
    pageToken = page.nextPageToken || undefined;
  }
  expect(listed).toEqual(instants.toReversed());
  for (const createdAt of ['0000-12-31T23:59:59Z', '0026-02-29T00:00:00Z', '10000-01-01T00:00:00Z', 'infinity', 5]) {
    const [answer] = await importUsers([{ email: newEmail(), createdAt }]);
    expect(answer, String(createdAt)).toMatchObject({ status: 'failed', field: 'createdAt' });
  }
});

test('a dry run answers the same, and stores nothing', async () => {
  const user = fullUser();
  const before = await exportUsers();
  const lines = [user, { email: user.email.toUpperCase() }, { email: 'none' }];
  const withoutIds = (answers: Answer[]) => answers.map(({ line, status, reason }) => ({ line, status, reason }));
  const dry = withoutIds(await importUsers(lines, '?dryRun=true'));
  expect(await exportUsers()).toBe(before);
  expect(withoutIds(await importUsers(lines))).toEqual(dry);
  expect(dry.map(({ status }) => status)).toEqual(['created', 'failed', 'failed']);
});

test('duplicates fail, in any spelling, within a file and against the table', async () => {
  const [user, stored] = [fullUser(), await createTestUser(service, { email: `ada@${randomUUID()}.bücher.example` })];
  const answers = await importUsers([
    user,
    { email: user.email.toUpperCase() },
    { email: newEmail(), walletAddress: user.walletAddress.toUpperCase() },
    { email: newEmail(), externalId: user.externalId },
    { email: newEmail(), identities: user.identities },
    { email: newEmail(), passkeys: user.passkeys },
    { email: stored.email.replace('xn--bcher-kva', 'BÜCHER') },
    { email: stored.email, externalId: user.externalId },
    { email: newEmail() },
  ]);
  expect(answers.map(({ status, reason, field }) => [status, reason, field].filter(Boolean).join(' '))).toEqual([
    'created',
    'failed USER_ALREADY_EXISTS email',
    'failed USER_ALREADY_EXISTS walletAddress',
    'failed USER_ALREADY_EXISTS externalId',
    'failed IDENTITY_ALREADY_LINKED identities',
    'failed PASSKEY_ALREADY_EXISTS passkeys',
    'failed USER_ALREADY_EXISTS email',
    'failed CONFLICTING_IDS email',
    'created',
  ]);
});

test('two lines with one identity or passkey and nothing else in common: the first has it', async () => {
  const { identities, passkeys } = fullUser();
  for (const shared of [{ identities }, { passkeys }]) {
    const answers = await importUsers([
      { email: newEmail(), ...shared },
      { email: newEmail(), ...shared },
    ]);
    expect(answers).toMatchObject([{ status: 'created' }, { status: 'failed', field: Object.keys(shared)[0] }]);
  }
});

test.each([
  [{ identities: [{ provider: 'other', subject: '1' }] }, 'UNKNOWN_PROVIDER'],
  [{ passkeys: [{ credentialId: 'AAAA', publicKey: 'AAAA', rpId: 'other.test' }] }, 'PASSKEY_OF_OTHER_HOST'],
  [{ applications: [randomUUID()] }, 'APPLICATION_NOT_FOUND'],
  [{ groups: ['nobody'] }, 'GROUP_NOT_FOUND'],
  [{ attributes: { sub: 'x' } }, 'VALIDATION_FAILED'],
  [{ surname: 'x' }, 'VALIDATION_FAILED'],
])('%j fails its line alone, with %s', async (fields, reason) => {
  const answers = await importUsers([{ email: newEmail() }, { email: newEmail(), ...fields }, { email: newEmail() }]);
  expect(answers.map(({ status }) => status)).toEqual(['created', 'failed', 'created']);
  expect(answers[1]).toMatchObject({ line: 2, reason, field: Object.keys(fields)[0] });
});

test.each([
  ['"email":"eve@example.com"', 'email'],
  ['"attributes":{"plan":"free","plan":"pro"}', 'plan'],
  ['"name":"A","\\u006eame":"B"', 'name'],
])('a line with the names of %s twice fails alone', async (repeated, field) => {
  const lines = [newEmail(), newEmail(), newEmail()].map((email) => JSON.stringify({ email }));
  lines[1] = `{${repeated},${lines[1]?.slice(1)}`;
  const answers = await importText(lines.join('\n'));
  expect(answers.map(({ status }) => status)).toEqual(['created', 'failed', 'created']);
  expect(answers[1]).toMatchObject({ line: 2, reason: 'VALIDATION_FAILED', field });
});

test('a line is refused with an ID that nobody has beside the address of a user, and with the ID of a deleted user', async () => {
  const [stored, deleted] = [await createTestUser(service), await createTestUser(service)];
  await admin.deleteUser({ userId: deleted.id });
  const answers = await importUsers(
    [
      { id: randomUUID(), email: stored.email },
      { id: deleted.id, email: newEmail() },
    ],
    '?onConflict=update',
  );
  expect(answers.map(({ reason, field }) => `${reason} ${field}`)).toEqual([
    'CONFLICTING_IDS id',
    'USER_ALREADY_EXISTS id',
  ]);
});

describe('a line about a user who is there', () => {
  const BEFORE = new Date('2020-01-01T00:00:00.000Z');
  const stored = {
    ...{ name: 'Ada', profile_image: 'https://img.test/a', attributes: { plan: 'pro' }, external_id: null },
    ...{ email_verified_at: null, deactivated_at: null },
  };
  const read = async (id: string) => {
    const [user] = await service.database.sql`select * from users where id = ${id}`;
    return user;
  };

  test.each<[string, before: object, line: object, after: object]>([
    ['changes nothing that it leaves out', {}, {}, stored],
    ['leaves a deactivation that it leaves out', { deactivated_at: BEFORE }, {}, { deactivated_at: BEFORE }],
    ['deactivates', {}, { isActive: false }, { deactivated_at: expect.any(Date) }],
    ['reactivates', { deactivated_at: BEFORE }, { isActive: true }, { deactivated_at: null }],
    ['verifies the address', {}, { emailVerified: true }, { email_verified_at: expect.any(Date) }],
    ['keeps the first proof', { email_verified_at: BEFORE }, { emailVerified: true }, { email_verified_at: BEFORE }],
    ['takes no proof back', { email_verified_at: BEFORE }, { emailVerified: false }, { email_verified_at: BEFORE }],
    ['changes the name', {}, { name: 'Grace' }, { ...stored, name: 'Grace' }],
    ['clears the name', {}, { name: null }, { ...stored, name: null }],
    [
      'changes the picture',
      {},
      { profileImage: 'https://img.test/b' },
      { ...stored, profile_image: 'https://img.test/b' },
    ],
    ['changes attributes', {}, { attributes: { plan: 'free' } }, { ...stored, attributes: { plan: 'free' } }],
    ['gives an external ID', {}, { externalId: 'auth0|given' }, { ...stored, external_id: 'auth0|given' }],
    ['removes the wallet', {}, { walletAddress: '' }, { ...stored, wallet_address: '' }],
  ])('%s', async (_, before, line, after) => {
    const { id, email } = await createTestUser(service);
    await service.database
      .sql`update users set ${service.database.sql({ ...stored, ...before } as never)} where id = ${id}`;
    expect(await importUsers([{ email, ...line }], '?onConflict=update')).toMatchObject([{ status: 'updated', id }]);
    expect(await read(id)).toMatchObject(after);
  });

  test('signs a user out whom it deactivates, and nobody else', async () => {
    const { id, email } = await createTestUser(service);
    const sessionId = await beginSession(service, application, { id });
    const { sessions } = clientsOf(service, application);
    expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: true });
    await importUsers([{ email, name: 'Ada' }], '?onConflict=update');
    expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: true });
    await importUsers([{ email, isActive: false }], '?onConflict=update');
    expect(await sessions.checkSession({ sessionId })).toMatchObject({ active: false });
  });

  test('adds what it lists, and keeps what is there', async () => {
    const { email, ...line } = fullUser();
    await importUsers([{ email, ...line }]);
    const { groups, applications, identities, passkeys } = { ...fullUser(), groups: [], applications: [] };
    await importUsers([{ email, groups, applications, identities, passkeys }], '?onConflict=update');
    const exported = JSON.parse((await exportUsers()).split('\n').find((each) => each.includes(line.id)) ?? '');
    expect(exported).toMatchObject({ groups: line.groups, applications: line.applications });
    const subjects = (all: readonly { subject: string }[]) => all.map(({ subject }) => subject).sort();
    expect(subjects(exported.identities)).toEqual(subjects([...line.identities, ...identities]));
    const ids = (all: readonly { credentialId: string }[]) => all.map(({ credentialId }) => credentialId).sort();
    expect(ids(exported.passkeys)).toEqual(ids([...line.passkeys, ...passkeys]));
    const [user] = [await createTestUser(service)];
    const added = { email: user.email, groups: ['editors'], applications: [application.id] };
    expect(await importUsers([added], '?onConflict=update')).toMatchObject([{ status: 'updated' }]);
    const { sql } = service.database;
    expect(await sql`select from group_members where user_id = ${user.id}`).toHaveLength(1);
    expect(await sql`select application_id from added_users where user_id = ${user.id}`).toEqual([
      { application_id: application.id },
    ]);
  });

  type Full = ReturnType<typeof fullUser>;

  test.each<[string, (ada: Full, grace: Full) => object, expected: string]>([
    ['the ID of one and the address of another', (ada, { email }) => ({ id: ada.id, email }), 'CONFLICTING_IDS email'],
    [
      'the external ID of one and the address of another',
      (ada, { email }) => ({ externalId: ada.externalId, email }),
      'CONFLICTING_IDS email',
    ],
    [
      'the ID of one and the external ID of another',
      (ada, { externalId }) => ({ id: ada.id, externalId, email: newEmail() }),
      'CONFLICTING_IDS externalId',
    ],
    [
      'the external ID of one and an ID of nobody',
      ({ externalId }) => ({ id: randomUUID(), externalId, email: newEmail() }),
      'CONFLICTING_IDS id',
    ],
    [
      'the wallet of another',
      ({ email }, { walletAddress }) => ({ email, walletAddress }),
      'USER_ALREADY_EXISTS walletAddress',
    ],
    [
      'an account at a provider of another',
      ({ email }, { identities }) => ({ email, identities }),
      'IDENTITY_ALREADY_LINKED identities',
    ],
    ['a passkey of another', ({ email }, { passkeys }) => ({ email, passkeys }), 'PASSKEY_ALREADY_EXISTS passkeys'],
    ['all that is its own', (ada) => ada, 'updated'],
    ['its own external ID and a new address', ({ externalId }) => ({ externalId, email: newEmail() }), 'updated'],
  ])('has %s', async (_, line, expected) => {
    const [ada, grace] = [fullUser(), fullUser()];
    await importUsers([ada, grace]);
    const before = [await read(ada.id), await read(grace.id)];
    const [answer] = await importUsers([line(ada, grace)], '?onConflict=update');
    expect([answer?.reason ?? answer?.status, answer?.field].filter(Boolean).join(' ')).toBe(expected);
    if (expected !== 'updated') expect([await read(ada.id), await read(grace.id)]).toEqual(before);
    else expect(answer?.id).toBe(ada.id);
  });

  test.each<[string, (of: Full) => object]>([
    ['address', ({ email }) => ({ email: email.toUpperCase() })],
    ['external ID', ({ externalId }) => ({ externalId, email: newEmail() })],
    ['wallet', ({ walletAddress }) => ({ walletAddress, email: newEmail() })],
    ['account at a provider', ({ identities }) => ({ identities, email: newEmail() })],
    ['passkey', ({ passkeys }) => ({ passkeys, email: newEmail() })],
  ])('is about a new one with the %s of a deleted user', async (_, line) => {
    const deleted = fullUser();
    await importUsers([deleted]);
    await admin.deleteUser({ userId: deleted.id });
    const [answer] = await importUsers([line(deleted)], '?onConflict=update');
    expect(answer).toMatchObject({ status: 'created', id: expect.not.stringMatching(deleted.id) });
  });

  test('names no application and no group that is gone', async () => {
    const [{ id }, group] = [await createTenant(service), await createTestGroup(service)];
    await admin.deleteApplication({ applicationId: id });
    await admin.deleteGroup({ groupId: group.groupId });
    const { email } = await createTestUser(service);
    const lines = [
      { email, applications: [id] },
      { email, groups: [group.name] },
    ];
    expect(await importUsers(lines, '?onConflict=update')).toMatchObject([
      { status: 'failed', reason: 'APPLICATION_NOT_FOUND' },
      { status: 'failed', reason: 'GROUP_NOT_FOUND' },
    ]);
  });

  test.each([
    ['skip', 'skipped'],
    ['update', 'updated'],
    ['fail', 'failed'],
  ])(
    'with onConflict=%s is %s, and the same in a dry run, in which the file may name it twice',
    async (how, status) => {
      const { email, id } = await createTestUser(service, { name: 'Ada' });
      const [added, line] = [newEmail(), { email, name: 'Grace', isActive: false }];
      const lines = [line, { email: added }, { email: added.toUpperCase() }];
      const dry = await importUsers(lines, `?onConflict=${how}&dryRun=true`);
      expect(dry.map((each) => each.status)).toEqual([status, 'created', status]);
      expect(await read(id)).toMatchObject({ name: 'Ada', deactivated_at: null });
      const answers = await importUsers(lines, `?onConflict=${how}`);
      expect(answers.map((each) => each.status)).toEqual([status, 'created', status]);
      expect(await read(id)).toMatchObject({ name: how === 'update' ? 'Grace' : 'Ada' });
    },
  );
});

test('public keys of passkeys are COSE, of a kind that verifies signatures', async () => {
  const es256 = newPublicKey();
  const offCurve = Buffer.from(es256);
  offCurve[offCurve.length - 1] = (offCurve.at(-1) ?? 0) ^ 1;
  const unknownAlgorithm = Buffer.from(es256.toString('hex').replace(/^a501020326/, 'a501020327'), 'hex');
  const importKeys = async (keys: readonly Buffer[], query = '') =>
    importUsers(
      keys.map((key) => ({ email: newEmail(), passkeys: [newPasskey(), newPasskey(key)] })),
      query,
    );
  const good = await importKeys((['ES256', 'ES384', 'EdDSA', 'RS256'] as const).map(newPublicKey));
  expect(good.map(({ status }) => status)).toEqual(['created', 'created', 'created', 'created']);
  const bad = [randomBytes(77), Buffer.of(0xa0), es256.subarray(0, 40), offCurve, unknownAlgorithm];
  const reason = { status: 'failed', reason: 'VALIDATION_FAILED', field: 'passkeys[1].publicKey' };
  expect(await importKeys(bad)).toEqual(bad.map((_, at) => ({ line: at + 1, ...reason })));
  expect(await importKeys([randomBytes(77)], '?dryRun=true')).toEqual([{ line: 1, ...reason }]);
});

test('an update brings nobody beyond 100 groups, and changes nothing then', async () => {
  const { sql } = service.database;
  const user = await createTestUser(service, { name: 'Before' });
  const names = Array.from({ length: 101 }, () => newGroupName());
  await sql`insert into groups (id, name, created_at) select gen_random_uuid(), unnest(${names}::text[]), now()`;
  await sql`
    insert into group_members (group_id, user_id, added_at)
    select id, ${user.id}, now() from groups where name = any(${names.slice(0, 99)})`;
  const update = async (groups: readonly (string | undefined)[], query = '') => {
    const [answer] = await importUsers([{ email: user.email, name: 'After', groups }], `?onConflict=update${query}`);
    return answer;
  };
  const tooMany = { line: 1, status: 'failed', reason: 'TOO_MANY_GROUPS', field: 'groups', id: user.id };
  expect(await update(names.slice(99), '&dryRun=true')).toEqual(tooMany);
  expect(await update(names.slice(99))).toEqual(tooMany);
  expect(await admin.getUser({ userId: user.id })).toMatchObject({ user: { name: 'Before' } });
  // Groups that the user is in already do not count twice.
  expect(await update(names.slice(50, 100))).toMatchObject({ status: 'updated' });
  expect(await sql`select from group_members where user_id = ${user.id}`).toHaveLength(100);
});

test('an imported passkey counts for operators after a week, as a new one', async () => {
  const { id, ...user } = fullUser();
  await importUsers([{ id, ...user }]);
  const keys = await service.database.sql`
    select extract(epoch from counts_for_operators_from - created_at)::int as seconds from passkeys where user_id = ${id}`;
  expect(keys).toEqual([{ seconds: 7 * 86_400 }]);
});

test('each of 10,000 broken lines is answered, and none ends the import', async () => {
  const kinds = [
    () =>
      randomBytes(40)
        .toString('latin1')
        .replaceAll(/[\r\n]/g, 'x'),
    () => '[1]',
    () => '{"email":',
    () => JSON.stringify({ email: newEmail() }) + ' '.repeat(17_000),
    () => JSON.stringify({ email: newEmail(), name: 'nul \0' }),
    () => `{"email":"a@b.test","__proto__":{"a":1}}`,
    () => `${'['.repeat(8_000)}`,
    () => JSON.stringify({ email: newEmail(), identities: [null], passkeys: {} }),
  ];
  const lines = Array.from({ length: 10_000 }, (_, at) => kinds[at % kinds.length]?.() ?? '');
  const answers = await importText([...lines, JSON.stringify({ email: newEmail() })].join('\n'));
  expect(answers.map(({ line }) => line)).toEqual(Array.from({ length: 10_001 }, (_, at) => at + 1));
  expect(new Set(answers.slice(0, -1).map(({ status }) => status))).toEqual(new Set(['failed']));
  expect(answers.at(-1)).toMatchObject({ status: 'created' });
});

test('a second import at the same time is refused, and one after it is not', async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const first = fetch(`${service.url}/admin/users.jsonl`, {
    method: 'POST',
    headers: { 'x-admin-key': ADMIN_KEY },
    body: readable,
    duplex: 'half',
  } as RequestInit);
  await writer.write(Buffer.from(`${JSON.stringify({ email: newEmail() })}\n`));
  await expect.poll(async () => (await send('')).status).toBe(503);
  await writer.close();
  expect(await (await first).text()).toContain('"status":"created"');
  expect((await send('')).status).toBe(200);
});

test('every new user has an audit event, and webhooks get a message only with notify', async () => {
  const { webhookId } = await createTestWebhook(service, application);
  await service.database.sql`update webhooks set event_types = '{user.created}' where id = ${webhookId}`;
  const newUsers = () => [1, 2].map(() => ({ email: newEmail(), applications: [application.id] }));
  const messagesOf = async (answers: Answer[]) => {
    const ids = answers.map(({ id = '' }) => id);
    return service.database.sql`select user_id from webhook_messages where user_id = any(${ids})`;
  };
  const answers = await importUsers(newUsers());
  const [quiet] = answers;
  expect(await messagesOf(answers)).toHaveLength(0);
  expect(await messagesOf(await importUsers(newUsers(), '?notify=true'))).toHaveLength(2);
  const { auditEvents } = await admin.listAuditEvents({ resource: quiet?.id ?? '' });
  expect(auditEvents).toMatchObject([{ action: 'AdminService/CreateUser', actorType: 'admin_key', actor: 'admin' }]);
});
