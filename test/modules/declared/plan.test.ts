/** What `plan` says of a change, and which changes the database does not allow. One row for each condition. */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { deriveApplicationId } from '../../../src/modules/declared/parse-applications-file.ts';
import { cloneDatabase } from '../../support/database.ts';
import { GRAFANA, newDeclaredKey, openDeclaredFixture } from '../../support/declared-fixture.ts';
import { png } from '../../support/images.ts';

const stack = new AsyncDisposableStack();
const database = stack.use(await cloneDatabase());
const declared = stack.use(openDeclaredFixture(database));
const { sql } = database;

afterEach(async () => {
  await sql`truncate applications, api_keys, groups, group_members, application_groups, application_users, added_users,
    application_logos, declared_files, session_cutoffs, unfinished_changes, webhooks, message_feeds cascade`;
});

type Entry = Readonly<Record<string, unknown>>;

const GROUPS = [{ name: 'editors' }, { name: 'readers' }];
const allow = (group: string) => ({ group, allowsAccess: true });
const see = (group: string) => ({ group, inClaim: true });
const image = (width: number) => `data:image/png;base64,${png(width, 2).toString('base64')}`;
const argo = { ...GRAFANA, clientId: 'argo-cd' };
const clientId = `client_${'cd'.repeat(16)}`;
const id = '00000000-0000-4000-8000-00000000abcd';
const old = { ...GRAFANA, clientId, id };
const [first, second, third] = ['first', 'second', 'third'].map((name) => newDeclaredKey(name).key);

function fileOf(applications: readonly Entry[], groups: readonly Entry[] = GROUPS): string {
  return JSON.stringify({ groups, applications });
}

/** Members of each group, of both, and somebody whom an operator has let in. All have signed in to Grafana. */
async function addPeople(): Promise<void> {
  const [editor, reader, both, added] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const applicationId = deriveApplicationId('grafana');
  for (const id of [editor, reader, both, added])
    await sql`insert into application_users (application_id, user_id, first_signed_in_at) values (${applicationId}, ${id}, now())`;
  for (const [group, ids] of [
    ['editors', [editor, both]],
    ['readers', [reader, both]],
  ] as const)
    await sql`insert into group_members (group_id, user_id, added_at)
      select g.id, m.id, now() from groups g, unnest(${[...ids]}::uuid[]) as m (id) where g.name = ${group}`;
  await sql`insert into added_users (application_id, user_id, added_at) values (${applicationId}, ${added}, now())`;
  // Of another application.
  await sql`insert into added_users (application_id, user_id, added_at) values (${deriveApplicationId('argo-cd')}, ${editor}, now())`;
  await sql`insert into application_users (application_id, user_id, first_signed_in_at)
    values (${deriveApplicationId('argo-cd')}, ${randomUUID()}, now())`;
}

describe('who loses access', () => {
  const of = (restrictAccess: boolean, ...access: object[]) => ({ ...GRAFANA, restrictAccess, access });

  test.each<[string, Entry, Entry, string]>([
    ['everybody but the added', of(false), of(true), 'restrictAccess false → true (3 people lose access)'],
    [
      'who is in no group',
      of(false),
      of(true, allow('editors')),
      'restrictAccess false → true, access +1 (1 person loses access)',
    ],
    ['nobody', of(false), of(true, allow('editors'), allow('readers')), 'restrictAccess false → true, access +2'],
    [
      'by a group that is only seen',
      of(false),
      of(true, allow('editors'), see('readers')),
      'restrictAccess false → true, access +2 (1 person loses access)',
    ],
    [
      'with a group',
      of(true, allow('editors'), allow('readers')),
      of(true, allow('editors')),
      'access -1 (1 person loses access)',
    ],
    [
      'whose group is another',
      of(true, allow('editors')),
      of(true, allow('readers')),
      'access -1 +1 (1 person loses access)',
    ],
    [
      'whose group is only seen',
      of(true, allow('editors')),
      of(true, see('editors')),
      'access ~1 (2 people lose access)',
    ],
    [
      'with a group that was only seen',
      of(true, allow('editors'), see('readers')),
      of(true, allow('editors')),
      'access -1',
    ],
    [
      'only as far as the application has let them in',
      of(true, allow('editors'), see('readers')),
      of(true),
      'access -2 (2 people lose access)',
    ],
    [
      'whose group is also seen',
      of(true, allow('editors')),
      of(true, { ...allow('editors'), inClaim: true }),
      'access ~1',
    ],
    ['by another group', of(true, allow('editors')), of(true, allow('editors'), allow('readers')), 'access +1'],
    ['where everybody may enter', of(true, allow('editors')), of(false), 'restrictAccess true → false, access -1'],
    [
      'by another field',
      of(true, allow('editors')),
      { ...of(true, allow('editors')), askName: true },
      'askName false → true',
    ],
  ])('%s', async (_, before, after, line) => {
    // Another application lets in a group that this one may only see.
    const other = { ...argo, access: [allow('readers')] };
    await declared.apply(fileOf([before, other]));
    await addPeople();
    expect(await declared.plan(fileOf([after, other]))).toBe(`grafana: ${line}\n`);
  });
});

describe('what changes', () => {
  const keysOf = (...keys: unknown[]) => ({ ...GRAFANA, keys });

  test.each<[string, string, string, string]>([
    [
      'a new application',
      fileOf([]),
      fileOf([{ ...keysOf(first, second), access: [see('editors')], logo: image(1) }]),
      'grafana: new, logo added, keys +2, access +1\n',
    ],
    ['a new group', fileOf([], []), fileOf([]), 'group editors: new\ngroup readers: new\n'],
    [
      'a list',
      fileOf([GRAFANA]),
      fileOf([{ ...GRAFANA, redirectUris: ['https://a.test/', 'https://b.test/'] }]),
      'grafana: redirectUris +2 -1\n',
    ],
    [
      'a list that grows, and one that shrinks',
      fileOf([{ ...GRAFANA, loginMethods: ['email', 'passkey'] }]),
      fileOf([{ ...GRAFANA, redirectUris: [...GRAFANA.redirectUris, 'https://a.test/'], loginMethods: ['email'] }]),
      'grafana: redirectUris +1, loginMethods -1\n',
    ],
    [
      'the order of a list',
      fileOf([{ ...GRAFANA, loginMethods: ['email', 'passkey'] }]),
      fileOf([{ ...GRAFANA, loginMethods: ['passkey', 'email'] }]),
      'grafana: loginMethods in another order\n',
    ],
    [
      'a text that is cleared',
      fileOf([{ ...GRAFANA, accentColor: '#000000' }]),
      fileOf([GRAFANA]),
      'grafana: accentColor "#000000" → none\n',
    ],
    [
      'a level',
      fileOf([GRAFANA]),
      fileOf([{ ...GRAFANA, requiredAssurance: 'TWO_FACTORS' }]),
      'grafana: requiredAssurance ANY → TWO_FACTORS\n',
    ],
    [
      'a dark logo alone',
      fileOf([{ ...GRAFANA, logo: image(1) }]),
      fileOf([{ ...GRAFANA, logo: image(1), darkLogo: image(2) }]),
      'grafana: darkLogo added\n',
    ],
    [
      'keys that come, go, and get another use',
      fileOf([keysOf(first, second)]),
      fileOf([keysOf({ ...second, use: 'CLIENT_SECRET' }, third)]),
      'grafana: keys -1 ~1 +1\n',
    ],
    ['the name of a key', fileOf([keysOf(first)]), fileOf([keysOf({ ...first, name: 'other' })]), 'grafana: keys ~1\n'],
    [
      'the expiry of a key',
      fileOf([keysOf(first)]),
      fileOf([keysOf({ ...first, expiresAt: '2099-01-01T00:00:00Z' })]),
      'grafana: keys ~1\n',
    ],
    [
      'a name of a group',
      fileOf([]),
      fileOf([], [{ name: 'editors', displayName: 'E' }, { name: 'readers' }]),
      'group editors: displayName none → "E"\n',
    ],
    [
      'fates',
      fileOf([GRAFANA, argo]),
      fileOf(
        [
          { ...GRAFANA, released: true },
          { ...argo, deleted: true },
        ],
        [
          { name: 'editors', released: true },
          { name: 'readers', deleted: true },
        ],
      ),
      'argo-cd: deleted\ngrafana: released\ngroup editors: released\ngroup readers: deleted\n',
    ],
    [
      'fates of what is not there',
      fileOf([], []),
      fileOf(
        [
          { ...GRAFANA, released: true },
          { ...argo, deleted: true },
        ],
        [
          { name: 'editors', released: true },
          { name: 'readers', deleted: true },
        ],
      ),
      '',
    ],
    [
      'a resource that moves',
      fileOf([{ ...GRAFANA, resourceUri: 'https://a.test/' }, argo]),
      fileOf([GRAFANA, { ...argo, resourceUri: 'https://a.test' }]),
      'grafana: resourceUri "https://a.test/" → none\nargo-cd: resourceUri none → "https://a.test"\n',
    ],
  ])('%s', async (_, before, after, lines) => {
    await declared.apply(before);
    expect((await declared.plan(after)).split('\n').sort()).toEqual(lines.split('\n').sort());
    await declared.apply(after);
    expect(await declared.plan(after)).toBe('');
  });

  test('the fates of what a file has released or deleted before are nothing', async () => {
    const fates = fileOf(
      [
        { ...GRAFANA, released: true },
        { ...argo, deleted: true },
      ],
      [{ name: 'editors', released: true }],
    );
    await declared.apply(fileOf([GRAFANA, argo]));
    await declared.apply(fates);
    expect(await declared.plan(fates)).toBe('');
    // What no file has ever named is no longer in none.
    expect(await declared.plan('{"groups":[],"applications":[]}')).toBe('');
    // Not even if an entry has the ID of what is deleted.
    expect(await declared.plan(fileOf([{ ...old, id: deriveApplicationId('argo-cd'), released: true }]))).toBe('');
  });

  test('what a file has adopted without a word belongs to it', async () => {
    await declared.apply(fileOf([{ ...GRAFANA, keys: [first] }]));
    await sql`update api_keys set declared_by_file = false`;
    await declared.apply(`${fileOf([{ ...GRAFANA, keys: [first] }])}\n`);
    expect(await sql`select declared_by_file from api_keys`).toEqual([{ declared_by_file: true }]);
  });

  test('a file whose name of a key differs from that of the console adopts it without a word', async () => {
    await declared.apply(fileOf([{ ...GRAFANA, keys: [first] }]));
    await sql`update api_keys set declared_by_file = false, name = 'night'`;
    expect(await declared.plan(fileOf([{ ...GRAFANA, keys: [first] }]))).toBe('');
    expect(await declared.plan(fileOf([{ ...GRAFANA, keys: [{ ...first, use: 'CLIENT_SECRET' }] }]))).toBe(
      'grafana: keys ~1\n',
    );
  });
});

describe('what the database does not allow', () => {
  test.each<[string, string, string, string]>([
    [
      'a new application with the ID of one that is there',
      fileOf([GRAFANA]),
      fileOf([{ ...old, id: deriveApplicationId('grafana') }]),
      `applications[0] (${clientId}): id is that of another application`,
    ],
    [
      'another ID than it has',
      fileOf([old]),
      fileOf([{ ...old, id: '00000000-0000-4000-8000-00000000abce' }]),
      `applications[0] (${clientId}): id is that of another application`,
    ],
    [
      'a group that is deleted with it',
      fileOf([GRAFANA]),
      fileOf([{ ...GRAFANA, access: [see('editors')] }], [{ name: 'editors', deleted: true }, { name: 'readers' }]),
      'applications[0] (grafana): access[0].group is no group',
    ],
    [
      'a group that nobody knows',
      fileOf([GRAFANA]),
      fileOf([{ ...GRAFANA, access: [see('nobody')] }]),
      'applications[0] (grafana): access[0].group is no group',
    ],
    [
      'a resource of a released application',
      fileOf([{ ...GRAFANA, resourceUri: 'https://a.test/' }]),
      fileOf([
        { ...GRAFANA, released: true },
        { ...argo, resourceUri: 'https://a.test' },
      ]),
      'applications[1] (argo-cd): resourceUri is that of another application',
    ],
    [
      'a key of another application',
      fileOf([{ ...GRAFANA, keys: [first] }]),
      fileOf([GRAFANA, { ...argo, keys: [second, first] }]),
      "applications[1] (argo-cd): keys[1].sha256 is that of another application's key",
    ],
    [
      'another digest under one name',
      fileOf([{ ...GRAFANA, keys: [first, second] }]),
      fileOf([{ ...GRAFANA, keys: [first, { ...third, name: 'second' }] }]),
      'applications[0] (grafana): keys[1].sha256 must not change: give the new key another name',
    ],
  ])('%s', async (_, before, after, message) => {
    await declared.apply(before);
    await expect(declared.plan(after)).rejects.toThrow(message);
  });

  test('a new application with the ID of one that no file names', async () => {
    await sql`insert into applications (id, client_id, name, redirect_uris, created_at)
      values (${id}, 'of-the-console', 'Old', '{https://old.test/}', now())`;
    await expect(declared.plan(fileOf([old]))).rejects.toThrow('id is that of another application');
  });

  test('a resource of an application that no file names', async () => {
    await declared.apply(fileOf([{ ...GRAFANA, resourceUri: 'https://a.test/' }]));
    await expect(declared.plan(fileOf([{ ...argo, resourceUri: 'https://a.test' }]))).rejects.toThrow(
      'resourceUri is that of another',
    );
  });

  test('a group of the database that the file does not name is a group', async () => {
    await declared.apply(fileOf([GRAFANA]));
    expect(await declared.plan(fileOf([{ ...GRAFANA, access: [see('editors')] }], [{ name: 'readers' }]))).toBe(
      'grafana: access +1\ngroup editors: no longer in the file\n',
    );
  });
});
