/** What a file reads, marks and exports, and what else there is beside it. One row for each condition. */
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import { runApplications } from '../../../../src/modules/declared/commands.ts';
import { selectGone } from '../../../../src/modules/declared/domain/apply-file.ts';
import { exportApplications } from '../../../../src/modules/declared/domain/export-applications.ts';
import { describeSteps, findSteps } from '../../../../src/modules/declared/domain/find-steps.ts';
import {
  markApplication,
  markGroup,
  releaseKeys,
  updateKey,
} from '../../../../src/modules/declared/domain/mark-declared.ts';
import { readAll, readState } from '../../../../src/modules/declared/domain/read-state.ts';
import {
  deriveApplicationId,
  parseApplicationsFile,
} from '../../../../src/modules/declared/parse-applications-file.ts';
import { cloneDatabase } from '../../../support/database.ts';
import { fileOf, GRAFANA, newDeclaredKey, openDeclaredFixture } from '../../../support/declared-fixture.ts';
import { createDirectory } from '../../../support/directory.ts';
import { png } from '../../../support/images.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';

const stack = new AsyncDisposableStack();
const database = stack.use(await cloneDatabase());
const declared = stack.use(openDeclaredFixture(database));
const { sql } = database;
const run = withAudit(declared.database.eachWithin(30_000), { ...BY_USHER, action: 'test', now: new Date() });

afterEach(async () => {
  await sql`truncate applications, api_keys, groups, application_groups, application_logos, declared_files, audit_events,
    session_cutoffs, unfinished_changes, webhooks, message_feeds cascade`;
});

const argo = { ...GRAFANA, clientId: 'argo-cd' };
const [grafanaId, argoId] = [deriveApplicationId('grafana'), deriveApplicationId('argo-cd')];
const [first, second, third] = ['first', 'second', 'third'].map((name) => newDeclaredKey(name).key) as [
  ReturnType<typeof newDeclaredKey>['key'],
  ReturnType<typeof newDeclaredKey>['key'],
  ReturnType<typeof newDeclaredKey>['key'],
];
const allow = (group: string) => ({ group, allowsAccess: true });
const see = (group: string) => ({ group, inClaim: true });
const image = (width: number) => `data:image/png;base64,${png(width, 2).toString('base64')}`;
const parse = (text: string) => parseApplicationsFile(text, '/nowhere/applications.json');
const withGroups = (groups: readonly string[], ...applications: readonly object[]) =>
  JSON.stringify({ groups: groups.map((name) => ({ name })), applications });

interface ConsoleKey {
  readonly name?: string;
  readonly id?: string;
  readonly createdAt?: Date;
  readonly expiresAt?: Date;
}

/** Makes a key of Grafana as operators do, and returns its digest as files have it. */
async function addKey({ name, id = crypto.randomUUID(), createdAt = new Date(), expiresAt }: ConsoleKey) {
  const digest = hash('sha256', id, 'buffer');
  await sql`insert into api_keys (application_id, id, digest, name, created_at, expires_at)
    values (${grafanaId}, ${id}, ${digest}, ${name ?? null}, ${createdAt}, ${expiresAt ?? null})`;
  return digest.toString('hex');
}

describe('a file reads', () => {
  test('its own entries and those of earlier files, but neither what is deleted nor what operators have made', async () => {
    const removed = { ...GRAFANA, clientId: 'removed', keys: [third] };
    const own = { ...GRAFANA, keys: [first] };
    const other = { ...argo, resourceUri: 'https://argo.test', keys: [second], logo: image(2) };
    await declared.apply(fileOf(own, other, removed));
    await declared.apply(fileOf(own, other, { clientId: 'removed', deleted: true }));
    await sql`insert into applications (id, client_id, name, redirect_uris, created_at)
      values (gen_random_uuid(), 'of-the-console', 'Console', '{https://old.test/}', now())`;
    const state = await readState(run, parse(fileOf(own)));
    expect(state.applications.map(({ application }) => application.clientId).sort()).toEqual(['argo-cd', 'grafana']);
    expect([...state.keys.keys()].sort()).toEqual([argoId, grafanaId].sort());
    expect([...state.keyOwners]).toEqual([[first.sha256, grafanaId]]);
    expect([...state.resourceOwners]).toEqual([]);
    const [logo] = await sql`delete from application_logos returning *`;
    await sql`insert into application_logos ${sql({ ...logo, application_id: deriveApplicationId('removed') })}`;
    expect([...(await readAll(run)).logos.keys()]).toEqual([]);
  });

  test('nothing of a key that is revoked, of a resource whose application is deleted, or of a group that is', async () => {
    const before = { ...GRAFANA, resourceUri: 'https://a.test', keys: [first], access: [see('readers')] };
    await declared.apply(withGroups(['readers'], before, argo));
    await declared.apply(withGroups(['readers'], { ...before, keys: [] }, argo));
    const after = withGroups(['readers'], { ...before, keys: [] }, { ...argo, keys: [first] });
    expect(await declared.plan(after)).toBe('argo-cd: keys +1\n');
    await sql`update groups set deleted_at = now()`;
    expect(JSON.parse(await declared.export()).applications[1]).not.toHaveProperty('access');
    await declared.apply(fileOf({ clientId: 'grafana', deleted: true }, argo));
    expect(await declared.plan(fileOf({ ...argo, resourceUri: 'https://a.test' }))).toContain('resourceUri none');
  });

  test('ten applications that have left it, in the order of their client IDs', async () => {
    const entries = Array.from({ length: 13 }, (_, at) => ({
      ...GRAFANA,
      clientId: `app-${String(at).padStart(2, '0')}`,
    }));
    await declared.apply(fileOf(...entries));
    await declared.apply(fileOf({ ...entries[0], released: true }, { ...entries[1] }));
    await sql`update applications set deleted_at = now() where client_id = 'app-02'`;
    const gone = await run(selectGone, {});
    expect(gone.map(({ clientId }) => clientId)).toEqual(
      ['03', '04', '05', '06', '07', '08', '09', '10', '11', '12'].map((at) => `app-${at}`),
    );
  });
});

describe('what is marked', () => {
  test.each([
    ['application', markApplication, 'applicationId', 'applications', 'client_id'],
    ['group', markGroup, 'groupId', 'groups', 'name'],
  ] as const)(
    'of two, one %s is released, and none that is deleted meanwhile',
    async (_, mark, idName, table, name) => {
      await declared.apply(withGroups(['argo-cd', 'grafana', 'gone'], GRAFANA, argo, { ...GRAFANA, clientId: 'gone' }));
      await sql`update ${sql(table)} set deleted_at = now() where ${sql(name)} = 'gone'`;
      const rows = await sql`select id, ${sql(name)} as name from ${sql(table)}`;
      for (const each of rows.filter((row) => row.name !== 'argo-cd'))
        await run(mark, { [idName]: each.id, declared: null });
      expect(await sql`select ${sql(name)} as name, declared_by_file from ${sql(table)} order by 1`).toEqual([
        { name: 'argo-cd', declared_by_file: true },
        { name: 'gone', declared_by_file: true },
        { name: 'grafana', declared_by_file: null },
      ]);
    },
  );

  test('the keys of a released application alone, and no row of which that is true already', async () => {
    await declared.apply(fileOf({ ...GRAFANA, keys: [first] }, { ...argo, keys: [second] }));
    await addKey({ name: 'night' });
    const read = () => sql`select name, declared_by_file, xmin::text as version from api_keys order by name`;
    const before = await read();
    await run(releaseKeys, { applicationId: grafanaId });
    const after = await read();
    expect(after.map(({ name, declared_by_file }) => [name, declared_by_file])).toEqual([
      ['first', false],
      ['night', false],
      ['second', true],
    ]);
    expect(after[1]).toEqual(before[1]);
  });

  test('a key alone, and none that is revoked meanwhile', async () => {
    await declared.apply(fileOf({ ...GRAFANA, keys: [first, third] }, { ...argo, keys: [second] }));
    await addKey({ name: 'night' });
    const keys = await sql`select id, name from api_keys`;
    const idOf = (wanted: string) => keys.find(({ name }) => name === wanted)?.id;
    // A copy of an application has the IDs of its keys.
    await sql`update api_keys set id = ${idOf('first')} where name = 'second'`;
    await sql`update api_keys set revoked_at = now() where name = 'third'`;
    for (const apiKeyId of [idOf('first'), idOf('third')])
      await run(updateKey, { applicationId: grafanaId, apiKeyId, name: 'renamed', use: 'API', expiresAt: null });
    expect((await sql`select name from api_keys order by 1`).map(({ name }) => name)).toEqual([
      'night',
      'renamed',
      'second',
      'third',
    ]);
  });
});

describe('a plan asks the database', () => {
  const restricted = (...access: object[]) => ({ ...GRAFANA, restrictAccess: true, access });

  test.each<[what: string, after: object, line: string, times: number]>([
    [
      'nothing if another field changes',
      { ...restricted(allow('editors'), see('readers')), askName: true },
      'askName false → true',
      0,
    ],
    ['nothing if a group goes that was only seen', restricted(allow('editors')), 'access -1', 0],
    ['who loses access if a group goes that has let people in', restricted(see('readers')), 'access -1', 1],
  ])('%s', async (_, after, line, times) => {
    await declared.apply(withGroups(['editors', 'readers'], restricted(allow('editors'), see('readers'))));
    const file = parse(withGroups(['editors', 'readers'], after));
    const countLosers = vi.fn(async () => 0);
    expect(await describeSteps(findSteps(file, await readState(run, file)), countLosers)).toEqual([`grafana: ${line}`]);
    expect(countLosers).toHaveBeenCalledTimes(times);
  });

  test('a file that is applied needs no step', async () => {
    const text = withGroups(['editors'], restricted(allow('editors')), argo);
    await declared.apply(text);
    const file = parse(text);
    expect(findSteps(file, await readState(run, file))).toEqual([]);
  });
});

describe('an export', () => {
  const old = { ...GRAFANA, clientId: `client_${'cd'.repeat(16)}`, id: '00000000-0000-4000-8000-00000000abcd' };

  test('has what is no default, in an order that stays', async () => {
    const [a, b] = [
      { ...second, name: 'a' },
      { ...first, name: 'b' },
    ];
    const full = {
      ...GRAFANA,
      askName: true,
      darkLogo: image(2),
      keys: [b, { ...a, use: 'CLIENT_SECRET', expiresAt: '2099-01-01T00:00:00.000Z' }],
      access: [allow('writers'), see('readers')],
    };
    await declared.apply(
      JSON.stringify({
        groups: [{ name: 'writers', displayName: 'Writers' }, { name: 'readers' }],
        applications: [full, old, argo],
      }),
    );
    expect(JSON.parse(await declared.export())).toEqual({
      groups: [{ name: 'readers' }, { name: 'writers', displayName: 'Writers' }],
      applications: [argo, old, { ...full, keys: full.keys.toReversed(), access: full.access.toReversed() }],
    });
  });

  const keysOf = async (now: Date) => JSON.parse(await exportApplications(run, now)).applications[0].keys;

  test('has no key of an operator that has ended, and every key of a file', async () => {
    await declared.apply(fileOf({ ...GRAFANA, keys: [{ ...first, expiresAt: '2001-01-01T00:00:00Z' }] }));
    const now = new Date('2030-01-01T00:00:00Z');
    await addKey({ name: 'ends-now', expiresAt: now });
    await addKey({ name: 'ends-later', expiresAt: new Date(now.getTime() + 1) });
    expect((await keysOf(now)).map(({ name }: { name: string }) => name)).toEqual(['ends-later', 'first']);
  });

  test('numbers keys without a name in the order of their creation, and then of their IDs', async () => {
    await declared.apply(fileOf(GRAFANA));
    const idOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;
    const digests = [
      await addKey({ id: idOf(3), createdAt: new Date(1_000) }),
      await addKey({ id: idOf(1), createdAt: new Date(2_000) }),
      await addKey({ id: idOf(2), createdAt: new Date(2_000) }),
    ];
    expect(await keysOf(new Date())).toEqual(digests.map((sha256, at) => ({ name: `key-${at + 1}`, sha256 })));
  });

  test('has room for the ten latest keys', async () => {
    await declared.apply(fileOf(GRAFANA));
    for (let at = 1; at <= 12; at++) await addKey({ name: `k${at}`, createdAt: new Date(at * 1_000) });
    const names: string[] = (await keysOf(new Date())).map(({ name }: { name: string }) => name);
    expect(names).toEqual(['k10', 'k11', 'k12', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8', 'k9']);
  });
});

describe('the command', () => {
  const readSettings = () => ({ databaseUrl: database.url, schema: 'usher' });

  test.each<[string | undefined, string | undefined]>([
    ['export', 'applications.json'],
    ['plan', undefined],
    ['apply', 'applications.json'],
    ['import', undefined],
    [undefined, undefined],
  ])('%s with the file %s does not exist', async (action, path) => {
    const command = runApplications(readSettings, action, path);
    await expect(command).rejects.toThrow('The command is applications plan <file>, or applications export');
  });

  test('says by its exit code whether anything changes, and keeps no connection', async () => {
    const path = join(await createDirectory(), 'applications.json');
    await writeFile(path, fileOf(GRAFANA));
    const close = vi.spyOn(Database.prototype, 'close');
    onTestFinished(() => close.mockRestore());
    expect(await runApplications(readSettings, 'plan', path)).toEqual({ output: 'grafana: new\n', exitCode: 2 });
    expect(close).toHaveBeenCalledTimes(1);
    await declared.apply(fileOf(GRAFANA));
    expect(await runApplications(readSettings, 'plan', path)).toBe('');
  });
});

test('a file waits for another one that is being applied', async () => {
  await using lock = await holdLock(
    database,
    `select pg_advisory_xact_lock(hashtextextended('usher applications file', 0))`,
  );
  const applying = declared.apply(fileOf(GRAFANA));
  await waitForLockOf(database, applying);
  await lock.release();
  expect(await applying).toBe('new');
});
