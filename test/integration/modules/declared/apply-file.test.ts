/** What a file does to the database: each field, keys, groups, logos, and what becomes of entries. */
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPostgresError } from '../../../../src/database/sql/driver.ts';
import { applicationRules } from '../../../../src/domain/applications/create-application.ts';
import { deriveApplicationId } from '../../../../src/modules/declared/parse-applications-file.ts';
import { cloneDatabase } from '../../../support/database.ts';
import { fileOf, GRAFANA, newDeclaredKey, openDeclaredFixture } from '../../../support/declared-fixture.ts';
import { png } from '../../../support/images.ts';

const stack = new AsyncDisposableStack();
const database = stack.use(await cloneDatabase());
const declared = stack.use(openDeclaredFixture(database));
const { sql } = database;

/** A small number of tests share the database, and each begins with an empty one. */
afterEach(async () => {
  await sql`truncate applications, api_keys, groups, application_groups, application_logos, declared_files, audit_events,
    session_cutoffs, unfinished_changes, webhooks, message_feeds cascade`;
});

const readApplication = async (clientId = 'grafana') =>
  (await sql`select * from applications where client_id = ${clientId}`)[0];
const readAudit = async () =>
  (await sql`select action, actor_type, actor, resource from audit_events order by occurred_at, action`).map(
    ({ action }) => action.replace('AdminService/', ''),
  );

/** A value that is no default, and the default in the database. */
const FIELDS: Readonly<Record<string, readonly [value: unknown, column: string, stored: unknown, byDefault: unknown]>> =
  {
    allowSignUp: [true, 'allow_sign_up', true, false],
    allowInvitations: [true, 'allow_invitations', true, false],
    askName: [true, 'ask_name', true, false],
    singleSignOn: [true, 'single_sign_on', true, false],
    restrictAccess: [true, 'restrict_access', true, false],
    messageFeed: [true, 'message_feed', true, false],
    openIdConnect: [true, 'open_id_connect', true, false],
    requirePkce: [false, 'require_pkce', false, true],
    publicClient: [true, 'public_client', true, false],
    deviceLogin: [true, 'device_login', true, false],
    allowMetadataClients: [true, 'allow_metadata_clients', true, false],
    sessionMaxAgeSeconds: [3_600, 'session_max_age_seconds', 3_600, null],
    sessionIdleSeconds: [1_800, 'session_idle_seconds', 1_800, 900],
    signUpEmailDomains: [['example.com'], 'sign_up_email_domains', ['example.com'], []],
    attributeClaims: [['plan'], 'attribute_claims', ['plan'], []],
    requiredAssurance: ['TWO_FACTORS', 'required_assurance', 2, 1],
    accentColor: ['#0f5e5a', 'accent_color', '#0f5e5a', null],
    termsUri: ['https://a.test/terms', 'terms_uri', 'https://a.test/terms', null],
    privacyUri: ['https://a.test/privacy', 'privacy_uri', 'https://a.test/privacy', null],
    supportUri: ['mailto:help@a.test', 'support_uri', 'mailto:help@a.test', null],
    initiateLoginUri: ['https://a.test/start', 'initiate_login_uri', 'https://a.test/start', null],
    loginMethods: [['email'], 'login_methods', ['email'], []],
    postLogoutRedirectUris: [['https://a.test/'], 'post_logout_redirect_uris', ['https://a.test/'], []],
    backchannelLogoutUri: ['https://a.test/out', 'backchannel_logout_uri', 'https://a.test/out', null],
    resourceUri: ['https://a.test/api', 'resource_uri', 'https://a.test/api', null],
    resourceScopes: [
      [{ name: 'read', description: 'Read' }],
      'resource_scopes',
      [{ name: 'read', description: 'Read' }],
      [],
    ],
    machineClientIds: [['batch-job'], 'machine_client_ids', ['batch-job'], []],
  };

describe('each field', () => {
  test('of an application is in the table', () => {
    expect(['name', 'redirectUris', ...Object.keys(FIELDS)].sort()).toEqual(Object.keys(applicationRules).sort());
  });

  test('of a group and of a key has its default once it is absent', async () => {
    const { key } = newDeclaredKey('first');
    const textOf = (group: object, ofKey: object) =>
      JSON.stringify({
        groups: [{ name: 'editors', ...group }],
        applications: [{ ...GRAFANA, keys: [{ ...key, ...ofKey }] }],
      });
    const read = async () => [
      ...(await sql`select display_name from groups`),
      ...(await sql`select use, expires_at from api_keys`),
    ];
    const byDefault = [{ display_name: null }, { use: 'API', expires_at: null }];
    await declared.apply(textOf({}, {}));
    expect(await read()).toEqual(byDefault);
    const changed = textOf({ displayName: 'Editors' }, { use: 'CLIENT_SECRET', expiresAt: '2099-01-01T00:00:00Z' });
    expect(await declared.plan(changed)).toBe('group editors: displayName none → "Editors"\ngrafana: keys ~1\n');
    await declared.apply(changed);
    expect(await read()).toEqual([
      { display_name: 'Editors' },
      { use: 'CLIENT_SECRET', expires_at: new Date('2099-01-01T00:00:00Z') },
    ]);
    await declared.apply(`${textOf({}, {})}\n`);
    expect(await read()).toEqual(byDefault);
  });

  test.each(Object.entries(FIELDS))('%s is set, and has its default once it is absent', async (field, row) => {
    const [value, column, stored, byDefault] = row;
    await declared.apply(fileOf(GRAFANA));
    expect((await readApplication())?.[column]).toEqual(byDefault);
    const changed = fileOf({ ...GRAFANA, [field]: value });
    expect(await declared.plan(changed)).toMatch(new RegExp(`^grafana: ${field} `));
    await declared.apply(changed);
    expect((await readApplication())?.[column]).toEqual(stored);
    expect(await declared.plan(changed)).toBe('');
    await declared.apply(fileOf({ ...GRAFANA, name: 'Grafana' }));
    expect((await readApplication())?.[column]).toEqual(byDefault);
    expect(await readAudit()).toEqual(['CreateApplication', 'UpdateApplication', 'UpdateApplication']);
  });
});

test('an application has the same ID in every stage, and no other key than those of the file', async () => {
  await declared.apply(fileOf(GRAFANA));
  expect(deriveApplicationId('grafana')).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  for (const clientId of ['a', 'argo-cd', 'batch', 'wiki'])
    expect(deriveApplicationId(clientId)).toMatch(/^[^-]+-[^-]+-8[^-]+-[89ab][^-]+-[^-]+$/);
  expect((await readApplication())?.id).toBe(deriveApplicationId('grafana'));
  expect((await sql`select from api_keys`).length).toBe(0);
  const [event] = await sql`select actor_type, actor from audit_events`;
  expect(event).toEqual({ actor_type: 'file', actor: expect.stringMatching(/^[0-9a-f]{12}$/) });
});

test('the same file twice changes nothing, and a file of the same content in other words neither', async () => {
  const { key } = newDeclaredKey('first');
  const entry = { ...GRAFANA, keys: [key], access: [{ group: 'editors', inClaim: true }] };
  const text = JSON.stringify({ groups: [{ name: 'editors', displayName: 'Editors' }], applications: [entry] });
  expect(await declared.apply(text)).toBe('new');
  const events = await readAudit();
  expect(await declared.apply(text)).toBe('same');
  expect(await declared.apply(`${text}\n`)).toBe('new');
  expect(await readAudit()).toEqual(events);
});

test('an access that is narrowed is left to the job, and cut off at once', async () => {
  await declared.apply(fileOf(GRAFANA));
  await declared.apply(fileOf({ ...GRAFANA, restrictAccess: true }));
  expect(await sql`select kind, step, subject_id from unfinished_changes`).toEqual([
    { kind: 'application', step: 0, subject_id: deriveApplicationId('grafana') },
  ]);
  expect(await sql`select application_id, isfinite(cutoff_at) as is_past from session_cutoffs`).toEqual([
    { application_id: deriveApplicationId('grafana'), is_past: false },
  ]);
});

test('messages of the change are sent after it', async () => {
  await declared.apply(fileOf({ ...GRAFANA, backchannelLogoutUri: 'https://a.test/out' }));
  const before = declared.notified.length;
  await declared.apply(fileOf({ ...GRAFANA, backchannelLogoutUri: 'https://b.test/out' }));
  expect(declared.notified.slice(before)).toEqual([deriveApplicationId('grafana')]);
});

test.each([
  ['after all', false],
  ['within a step', true],
])(
  'a file that Postgres rolls back %s, because it and another transaction wait for each other, is applied again',
  async (_, isStep) => {
    const transact = declared.database.transact.bind(declared.database);
    const deadlock = createPostgresError('C40P01\0Mdeadlock detected');
    const spy = vi.spyOn(declared.database, 'transact').mockImplementationOnce((of, work) =>
      transact(of, async (run) => {
        await work((statement, parameters) => {
          if (isStep && 'clientId' in parameters) throw deadlock;
          return run(statement, parameters);
        });
        throw deadlock;
      }),
    );
    onTestFinished(() => spy.mockRestore());
    expect(await declared.apply(fileOf(GRAFANA))).toBe('new');
    expect(spy).toHaveBeenCalledTimes(2);
    expect(await readApplication()).toMatchObject({ name: 'Grafana' });
    expect(await readAudit()).toEqual(['CreateApplication']);
  },
);

describe('keys', () => {
  const [first, second] = [newDeclaredKey('first'), newDeclaredKey('second')];
  const readKeys = async () =>
    Object.fromEntries(
      (await sql`select name, revoked_at is not null as ended, use, expires_at, declared_by_file from api_keys`).map(
        ({ name, ...key }) => [name, key],
      ),
    );

  test('that leave the file are revoked, and others stay', async () => {
    await declared.apply(fileOf({ ...GRAFANA, keys: [first.key, { ...second.key, use: 'CLIENT_SECRET' }] }));
    await sql`insert into api_keys (application_id, id, digest, name, created_at)
      values (${deriveApplicationId('grafana')}, gen_random_uuid(), '\\x00', 'night', now())`;
    await declared.apply(fileOf({ ...GRAFANA, keys: [second.key] }));
    expect(await readKeys()).toMatchObject({
      first: { ended: true },
      second: { ended: false, use: 'API', declared_by_file: true },
      night: { ended: false, declared_by_file: false },
    });
  });

  test('get an expiry, another name, and come back', async () => {
    await declared.apply(fileOf({ ...GRAFANA, keys: [first.key] }));
    const expiresAt = '2001-01-01T00:00:00.000Z';
    await declared.apply(fileOf({ ...GRAFANA, keys: [{ ...first.key, name: 'renamed', expiresAt }] }));
    expect(await readKeys()).toMatchObject({ renamed: { ended: false, expires_at: new Date(expiresAt) } });
    await declared.apply(fileOf(GRAFANA));
    await declared.apply(fileOf({ ...GRAFANA, keys: [first.key] }));
    expect(await readKeys()).toMatchObject({ renamed: { ended: true }, first: { ended: false } });
  });

  test('keep their digest under one name', async () => {
    await declared.apply(fileOf({ ...GRAFANA, keys: [first.key] }));
    const changed = fileOf({ ...GRAFANA, askName: true, keys: [{ ...second.key, name: 'first' }] });
    await expect(declared.apply(changed)).rejects.toThrow(/grafana\): keys\[0\]\.sha256 must not change/);
    expect(await readKeys()).toMatchObject({ first: { ended: false } });
    expect((await readApplication())?.ask_name).toBe(false);
  });

  test('belong to one application', async () => {
    await declared.apply(fileOf({ ...GRAFANA, keys: [first.key] }));
    const other = { ...GRAFANA, clientId: 'argo-cd' };
    await expect(declared.apply(fileOf(GRAFANA, { ...other, keys: [first.key] }))).rejects.toThrow(
      /another application/,
    );
  });
});

describe('entries', () => {
  test('that are gone stay as they are, and are marked until they come back', async () => {
    const text = JSON.stringify({ groups: [{ name: 'editors' }], applications: [{ ...GRAFANA, askName: true }] });
    await declared.apply(text);
    expect(await declared.plan('{}')).toBe('grafana: no longer in the file\ngroup editors: no longer in the file\n');
    await declared.apply('{}');
    expect(await readApplication()).toMatchObject({ ask_name: true, deleted_at: null, declared_by_file: false });
    expect(await sql`select declared_by_file from groups`).toEqual([{ declared_by_file: false }]);
    expect(await declared.plan('{}')).toBe('');
    await declared.apply(text);
    expect(await readApplication()).toMatchObject({ declared_by_file: true });
    expect(await sql`select declared_by_file from groups`).toEqual([{ declared_by_file: true }]);
  });

  test('that are released belong to nobody, with their keys', async () => {
    const { key } = newDeclaredKey('first');
    const grafana = { ...GRAFANA, keys: [key] };
    await declared.apply(JSON.stringify({ groups: [{ name: 'editors' }], applications: [grafana] }));
    await declared.apply(
      JSON.stringify({ groups: [{ name: 'editors', released: true }], applications: [{ ...grafana, released: true }] }),
    );
    expect(await readApplication()).toMatchObject({ declared_by_file: null, deleted_at: null });
    expect(await sql`select declared_by_file from groups`).toEqual([{ declared_by_file: null }]);
    expect(await sql`select declared_by_file, revoked_at from api_keys`).toEqual([
      { declared_by_file: false, revoked_at: null },
    ]);
    expect(await declared.plan('{}')).toBe('');
  });

  test('that are deleted stay so, and the tombstone may stay', async () => {
    await declared.apply(JSON.stringify({ groups: [{ name: 'editors' }], applications: [GRAFANA] }));
    const tombstone = JSON.stringify({
      groups: [{ name: 'editors', deleted: true }],
      applications: [
        { clientId: 'grafana', deleted: true },
        { clientId: 'never-there', deleted: true },
      ],
    });
    expect(await declared.plan(tombstone)).toBe('grafana: deleted\ngroup editors: deleted\n');
    await declared.apply(tombstone);
    expect((await readApplication())?.deleted_at).not.toBeNull();
    expect(await sql`select from groups where deleted_at is null`).toEqual([]);
    expect(await declared.plan(tombstone)).toBe('');
    await expect(declared.apply(fileOf(GRAFANA))).rejects.toThrow(/clientId is of a deleted application/);
  });

  test('swap their resources', async () => {
    const [one, other] = ['https://a.test/one', 'https://a.test/other'];
    const argo = { ...GRAFANA, clientId: 'argo-cd' };
    await declared.apply(fileOf({ ...GRAFANA, resourceUri: one }, { ...argo, resourceUri: other }));
    await declared.apply(fileOf({ ...GRAFANA, resourceUri: `${other}/` }, { ...argo, resourceUri: one }));
    expect((await readApplication())?.resource_uri).toBe(`${other}/`);
    expect((await readApplication('argo-cd'))?.resource_uri).toBe(one);
    // An entry takes it from one that is deleted, and not from an application that the file does not name.
    await declared.apply(fileOf({ ...GRAFANA, resourceUri: one }, { clientId: 'argo-cd', deleted: true }));
    await declared.apply(fileOf());
    await expect(declared.apply(fileOf({ ...argo, clientId: 'third', resourceUri: one }))).rejects.toThrow(
      /third\): resourceUri is that of another application/,
    );
  });

  test('have logos, which change with the file', async () => {
    const data = (width: number) => `data:image/png;base64,${png(width, 4).toString('base64')}`;
    await declared.apply(fileOf({ ...GRAFANA, logo: data(3), darkLogo: data(4) }));
    expect(await readApplication()).toMatchObject({ logo_size: [3, 4], dark_logo_size: [4, 4] });
    const changed = fileOf({ ...GRAFANA, logo: data(5) });
    expect(await declared.plan(changed)).toBe('grafana: logo replaced, darkLogo removed\n');
    await declared.apply(changed);
    expect(await readApplication()).toMatchObject({ logo_size: [5, 4], dark_logo_size: null });
  });
});

describe('an application of Usher’s making', () => {
  const clientId = `client_${'ab'.repeat(16)}`;
  const id = '00000000-0000-4000-8000-00000000abcd';
  const entry = { clientId, name: 'Old', redirectUris: ['https://old.test/'] };

  test('is adopted with its ID', async () => {
    await sql`insert into applications (id, client_id, name, redirect_uris, created_at)
      values (${id}, ${clientId}, 'Old', '{https://old.test/}', now())`;
    expect(await declared.plan(fileOf(entry))).toBe('');
    await declared.apply(fileOf(entry));
    expect(await readApplication(clientId)).toMatchObject({ id, declared_by_file: true });
    const elsewhere = fileOf({ ...entry, id: deriveApplicationId('grafana') });
    await expect(declared.apply(elsewhere)).rejects.toThrow(/id is that of another application/);
  });

  test('is created where its ID stands beside it, and nowhere else', async () => {
    await expect(declared.apply(fileOf(entry))).rejects.toThrow(/clientId is of no application/);
    await declared.apply(fileOf({ ...entry, id }));
    expect((await readApplication(clientId))?.id).toBe(id);
  });
});

describe('revisions', () => {
  const fileAt = (revision: number | undefined, name = 'Grafana') =>
    JSON.stringify({ revision, applications: [{ ...GRAFANA, name }] });

  test.each([
    [2, 3, 'new', 'Later'],
    [2, 1, 'older', 'First'],
    [2, 2, 'different', 'First'],
    [2, undefined, 'without revision', 'First'],
    [undefined, 1, 'new', 'Later'],
    [undefined, undefined, 'new', 'Later'],
  ])('%s and then %s: %s', async (first, then, standing, name) => {
    await declared.apply(fileAt(first, 'First'), new Date(1_000));
    expect(await declared.apply(fileAt(then, 'Later'), new Date(2_000))).toBe(standing);
    expect((await readApplication())?.name).toBe(name);
    const applied = standing === 'new' ? { revision: then ?? null, second: 2 } : { revision: first ?? null, second: 1 };
    expect(await sql`select revision, extract(epoch from applied_at)::int as second from declared_files`).toEqual([
      applied,
    ]);
  });

  test('alone are no change for a plan, and a change needs a higher one', async () => {
    await declared.apply(fileAt(2));
    expect(await declared.plan(fileAt(9))).toBe('');
    expect(await declared.plan(fileAt(3, 'Later'))).toBe('grafana: name "Grafana" → "Later"\n');
    for (const revision of [1, 2, undefined])
      await expect(declared.plan(fileAt(revision, 'Later'))).rejects.toThrow('revision must be above 2');
  });
});
