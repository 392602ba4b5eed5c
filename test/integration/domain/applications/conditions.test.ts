/** Conditions of the statements about applications, a row each. What operators see: test/contract/applications.test.ts. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { sql as part } from 'drizzle-orm';
import { beforeEach, describe, expect, test } from 'vitest';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import { countDeclared } from '../../../../src/domain/applications/count-declared.ts';
import { createApplication as createAsOperator } from '../../../../src/domain/applications/create-application.ts';
import { deleteApplication } from '../../../../src/domain/applications/delete-application.ts';
import { getApplication } from '../../../../src/domain/applications/get-application.ts';
import { isRegistered, isStillRegistered } from '../../../../src/domain/applications/redirect-uri.ts';
import { setApplicationLogo } from '../../../../src/domain/applications/set-application-logo.ts';
import { readApplicationVersion, updateApplication } from '../../../../src/domain/applications/update-application.ts';
import type { Call } from '../../../../src/domain/core/call.ts';
import { at, DAY, NOW, openDomain, reason } from '../../../support/domain-scene.ts';
import { jpeg, png } from '../../../support/images.ts';

const { sql, callAt, readTold, createApplication } = await openDomain();
/** What a change leaves to the job stays to be read. */
const call = { ...callAt(), isUncommitted: true } as const;

type Columns = Readonly<Record<string, unknown>>;

const URI = 'https://api.test';
const RESOURCE = {
  resource_uri: URI,
  resource_scopes: [{ name: 'read', description: 'Read' }],
  machine_client_ids: ['machine'],
};

let here: string;
let other: string;
/** Has the application as a machine client. */
let resource: string;
beforeEach(async () => {
  await sql`delete from webhooks`;
  await sql`delete from session_cutoffs`;
  await sql`update applications set resource_uri = null where resource_uri is not null`;
  const client = randomUUID();
  here = await createApplication({ client_id: client, resource_uri_changed_at: at(-DAY) });
  other = await createApplication({ machine_client_ids: ['machine'] });
  resource = await createApplication({ machine_client_ids: ['machine', client] });
  readTold();
});

const set = (columns: Columns, id = here) => sql`update applications set ${sql(columns as never)} where id = ${id}`;
/** The applications whose readers of revocations ask again. */
const readAsking = async () =>
  (await sql`select application_id from session_cutoffs where cutoff_at = '-infinity'`).map(
    (row) => row.application_id,
  );
const countChanges = async () =>
  (await sql`select count(*)::integer as count from audit_events where resource in (${here}, ${other}, ${resource})`)[0]
    ?.count;

describe('an update', () => {
  test.each<[string, before: Columns, given: Columns, asking: () => string[]]>([
    ['of the name tells nobody', {}, { name: 'New' }, () => []],
    ['to what is there tells nobody', RESOURCE, { resourceUri: URI, openIdConnect: false }, () => []],
    ['of OpenID Connect tells the resources, too', {}, { openIdConnect: true }, () => [here, resource]],
    ['of the access tells the resources', {}, { restrictAccess: true }, () => [resource]],
    ['of the metadata clients', {}, { allowMetadataClients: true }, () => [here]],
    ['of the machines', {}, { machineClientIds: ['machine'] }, () => [here]],
    ['of the assurance', {}, { requiredAssurance: 'TWO_FACTORS' }, () => [here]],
    ['of the resource', RESOURCE, { resourceUri: `${URI}/new` }, () => [here]],
    ['of the scopes', RESOURCE, { resourceScopes: [] }, () => [here]],
  ])('%s', async (_, before, given, asking) => {
    await set({ open_id_connect: false, ...before });
    await updateApplication(call, { applicationId: here, ...given });
    expect((await readAsking()).toSorted()).toEqual(asking().toSorted());
  });

  test.each<[string, before: Columns, given: Columns, changedAt: Date]>([
    ['has other tokens for another resource', RESOURCE, { resourceUri: `${URI}/new` }, NOW],
    ['has other tokens for none', RESOURCE, { resourceUri: null }, NOW],
    ['has other tokens for a first one', {}, { resourceUri: URI }, NOW],
    ['keeps them with a slash more', RESOURCE, { resourceUri: `${URI}/` }, at(-DAY)],
    ['keeps them with another name', RESOURCE, { name: 'New' }, at(-DAY)],
  ])('%s', async (_, before, given, changedAt) => {
    await set({ open_id_connect: false, ...before });
    await updateApplication(call, { applicationId: here, ...given });
    const rows =
      await sql`select id, resource_uri_changed_at as at from applications where id in (${here}, ${other}) order by id = ${other}`;
    expect(rows).toEqual([
      { id: here, at: changedAt },
      { id: other, at: null },
    ]);
  });

  const FULL = {
    ...{ name: 'New', openIdConnect: true, restrictAccess: true, messageFeed: true },
    ...{ backchannelLogoutUri: 'https://app.test/logout', resourceUri: URI },
  };
  test.each<[string, prepare: () => PromiseLike<unknown>, answer: string, ifVersion?: 'seen' | 'other']>([
    ['is done as a whole', async () => undefined, 'done'],
    ['is done to the version that was seen', async () => undefined, 'done', 'seen'],
    ['is not done to another one', async () => undefined, 'CHANGED_MEANWHILE', 'other'],
    ['is not done to one of the file', () => set({ declared_by_file: true }), 'MANAGED_BY_FILE'],
    ['is done to one that was of the file', () => set({ declared_by_file: false }), 'done'],
    ['is not done to a deleted one', () => set({ deleted_at: NOW }), 'APPLICATION_NOT_FOUND'],
    ['is done beside one of the file', () => set({ declared_by_file: true }, other), 'done'],
  ])('%s', async (_, prepare, answer, seen) => {
    await prepare();
    const ifVersion = seen && (await readApplicationVersion(call, { applicationId: seen === 'seen' ? here : other }));
    const others = () => sql`select * from applications where id in (${other}, ${resource}) order by id`;
    const before = await others();
    expect(await reason(updateApplication({ ...call, ifVersion }, { applicationId: here, ...FULL }))).toBe(answer);
    const isDone = answer === 'done';
    expect(await sql`select name = 'New' as is_new from applications where id = ${here}`).toEqual([{ is_new: isDone }]);
    expect(await sql`select from webhooks where application_id = ${here}`).toHaveLength(isDone ? 2 : 0);
    expect(await sql`select from message_feeds where application_id = ${here}`).toHaveLength(isDone ? 1 : 0);
    const left = await sql`select losing_ids from unfinished_changes where subject_id = ${here}`;
    expect(left).toEqual(isDone ? [{ losing_ids: [here] }] : []);
    expect(await readAsking()).toHaveLength(isDone ? 2 : 0);
    expect([await countChanges(), readTold()]).toEqual(isDone ? [1, [here]] : [0, []]);
    expect(await others()).toEqual(before);
  });

  test('to what is there has no audit event', async () => {
    await updateApplication(call, { applicationId: here, ...FULL });
    const before = await countChanges();
    await updateApplication(call, { applicationId: here, ...FULL });
    expect(await countChanges()).toBe(before);
  });

  test('leaves the disabled endpoint and the feed that it does not name', async () => {
    await updateApplication(call, { applicationId: here, ...FULL });
    await sql`update webhooks set is_active = false where application_id = ${here} and url <> ''`;
    await sql`delete from webhooks where application_id = ${here} and url = ''`;
    await updateApplication(call, { applicationId: here, name: 'Newer' });
    expect(await sql`select is_active from webhooks where application_id = ${here}`).toEqual([{ is_active: false }]);
  });

  test('that restricts leaves the second look at its users to the job', async () => {
    await updateApplication(callAt(), { applicationId: here, restrictAccess: true });
    const left = await sql`select step > 0 as has_begun from unfinished_changes where subject_id = ${here}`;
    expect(left).toEqual([{ has_begun: true }]);
  });

  test('of a deleted one has no version to name', async () => {
    expect(await readApplicationVersion(call, { applicationId: here })).toEqual(expect.any(String));
    await set({ deleted_at: NOW });
    expect(await readApplicationVersion(call, { applicationId: here })).toBeUndefined();
    expect(await reason(getApplication(call, { applicationId: here }))).toBe('APPLICATION_NOT_FOUND');
  });

  test.each<[string, before: Columns, given: Columns, isCutOff: boolean]>([
    ['that restricts ends the sign-ins of others', {}, { restrictAccess: true }, true],
    ['that restricts once more does, too', { restrict_access: true }, { restrictAccess: true }, true],
    ['that opens ends none', { restrict_access: true }, { restrictAccess: false }, false],
    ['of a restricted one ends none', { restrict_access: true }, { name: 'New' }, false],
  ])('%s', async (_, before, given, isCutOff) => {
    await set({ restrict_access: false, ...before });
    await updateApplication(call, { applicationId: here, ...given });
    const ended = await sql`select application_id from session_cutoffs where cutoff_at = 'infinity'`;
    expect(ended).toEqual(isCutOff ? [{ application_id: here }] : []);
  });

  test('leaves the endpoint and the feed that it does not name', async () => {
    await updateApplication(call, { applicationId: here, ...FULL });
    await updateApplication(call, { applicationId: here, name: 'Newer' });
    expect(await sql`select from webhooks where application_id = ${here}`).toHaveLength(2);
    await updateApplication(call, { applicationId: here, backchannelLogoutUri: null });
    await updateApplication(call, { applicationId: other, messageFeed: false, backchannelLogoutUri: null });
    expect(await sql`select starts_with(id, 'feed_') as is_feed from webhooks`).toEqual([{ is_feed: true }]);
    expect(await sql`select is_active from message_feeds where application_id = ${here}`).toEqual([
      { is_active: true },
    ]);
  });
});

const LOGO = png(8, 4);
const NEW_LOGO = png(16, 8);
const logo = (theme: string, image: Uint8Array = new Uint8Array(), applicationId = here) =>
  setApplicationLogo(call, { applicationId, theme, image });
const readLogos = () => sql`select theme, width from application_logos where application_id = ${here} order by theme`;
const readSizes = async () =>
  (
    await sql`select logo_size, dark_logo_size from applications where id = ${here} and (logo_digest is null) = (logo_size is null)
    and (dark_logo_digest is null) = (dark_logo_size is null)`
  )[0];

describe('a logo', () => {
  test.each<
    [string, change: () => Promise<unknown>, light: number | undefined, dark: number | undefined, changes: number]
  >([
    ['that is there changes nothing', () => logo('light', LOGO), 8, 8, 0],
    ['of a theme is replaced alone', () => logo('light', NEW_LOGO), 16, 8, 1],
    [
      'of a theme is replaced by that of the other',
      () => logo('dark', NEW_LOGO).then(() => logo('light', NEW_LOGO)),
      ...([16, 16, 2] as const),
    ],
    [
      'of the dark theme is replaced by that of the other',
      () => logo('light', NEW_LOGO).then(() => logo('dark', NEW_LOGO)),
      ...([16, 16, 2] as const),
    ],
    ['of the dark theme is replaced alone', () => logo('dark', NEW_LOGO), 8, 16, 1],
    ['of a theme is removed alone', () => logo('light'), undefined, 8, 1],
    ['of the dark theme is removed alone', () => logo('dark'), 8, undefined, 1],
    ['is removed once', () => logo('light').then(() => logo('light')), undefined, 8, 1],
    ['is none of the others', () => logo('light', new Uint8Array(), other), 8, 8, 0],
  ])('%s', async (_, change, light, dark, changes) => {
    for (const theme of ['light', 'dark']) await logo(theme, LOGO);
    await sql`delete from audit_events`;
    await change();
    const rows = [
      ...(dark ? [{ theme: 'dark', width: dark }] : []),
      ...(light ? [{ theme: 'light', width: light }] : []),
    ];
    expect(await readLogos()).toEqual(rows);
    const sizeOf = (width?: number) => (width ? [width, width / 2] : null);
    expect(await readSizes()).toEqual({ logo_size: sizeOf(light), dark_logo_size: sizeOf(dark) });
    expect(await countChanges()).toBe(changes);
  });

  test('is replaced as a whole', async () => {
    await logo('light', LOGO);
    const image = jpeg(16, 9);
    await logo('light', image);
    const digest = Buffer.from(hash('sha256', image), 'hex');
    const row = { application_id: here, theme: 'light', digest, media_type: 'image/jpeg', width: 16, height: 9, image };
    expect(await sql`select * from application_logos where application_id = ${here}`).toEqual([row]);
  });

  test.each<[string, image: Uint8Array]>([
    ['set', NEW_LOGO],
    ['kept', LOGO],
    ['removed', new Uint8Array()],
  ])('that is %s is one row of the answer', async (_, image) => {
    await logo('light', LOGO);
    const found: unknown[] = [];
    const run: Call['run'] = async (statement, parameters) => {
      const rows = await call.run(statement, parameters);
      found.push(...(rows as readonly unknown[]));
      return rows;
    };
    await setApplicationLogo({ ...call, run }, { applicationId: here, theme: 'light', image });
    expect(found).toHaveLength(1);
  });

  test.each<[string, columns: Columns, answer: string]>([
    ['of one of the file stays', { declared_by_file: true }, 'MANAGED_BY_FILE'],
    ['of a deleted one stays', { deleted_at: NOW }, 'APPLICATION_NOT_FOUND'],
    ['of one that was of the file goes', { declared_by_file: false }, 'done'],
  ])('%s', async (_, columns, answer) => {
    await logo('light', LOGO);
    await set(columns);
    expect(await reason(logo('light', NEW_LOGO))).toBe(answer);
    expect(await readLogos()).toEqual([{ theme: 'light', width: answer === 'done' ? 16 : 8 }]);
    expect(await reason(logo('light'))).toBe(answer);
    expect(await readLogos()).toHaveLength(answer === 'done' ? 0 : 1);
  });
});

describe('a deletion', () => {
  test.each<[string, prepare: () => PromiseLike<unknown>, answer: string]>([
    ['ends one', async () => undefined, 'done'],
    ['ends one that was of the file', () => set({ declared_by_file: false }), 'done'],
    ['ends none of the file', () => set({ declared_by_file: true }), 'MANAGED_BY_FILE'],
    ['ends none again', () => set({ deleted_at: at(-1) }), 'APPLICATION_NOT_FOUND'],
  ])('%s', async (_, prepare, answer) => {
    const client = randomUUID();
    await set({ client_id: client, machine_client_ids: [client] });
    await set({ machine_client_ids: [client] }, resource);
    for (const id of [here, other]) await logo('light', LOGO, id);
    await sql`delete from audit_events`;
    await prepare();
    expect(await reason(deleteApplication(call, { applicationId: here }))).toBe(answer);
    const isDone = answer === 'done';
    const rows = await sql`select id, deleted_at = ${NOW} as is_deleted from applications
      where id in (${here}, ${other}) order by id = ${other}`;
    expect(rows.map(({ is_deleted }) => is_deleted === true)).toEqual([isDone, false]);
    expect(await sql`select application_id from application_logos where application_id = ${other}`).toHaveLength(1);
    expect(await readLogos()).toHaveLength(isDone ? 0 : 1);
    expect([await readAsking(), await countChanges()]).toEqual(isDone ? [[resource], 1] : [[], 0]);
    const ended = await sql`select application_id from session_cutoffs where cutoff_at <> '-infinity'`;
    expect(ended).toEqual(isDone ? [{ application_id: here }] : []);
  });
});

test('a new one has only login methods that are known', async () => {
  const create = (loginMethods: string[]) =>
    createAsOperator(
      call,
      { name: 'App', redirectUris: ['https://app.test/'], loginMethods },
      (name) => name === 'email',
    );
  expect(await reason(create(['email']))).toBe('done');
  expect(await reason(create(['email', 'unknown']))).toBe('VALIDATION_FAILED');
});

describe('the redirect URI of a login', () => {
  const selectStill = statement('select_still_registered', { isStill: t.boolean })`
    select ${isStillRegistered(part`i`, part`a`)} as is_still from applications a,
      (select ${p.text('uri')} as redirect_uri, ${p.text('clientId')} as client_id) i
    where a.id = ${p.uuid('applicationId')}`;
  const [APP, NATIVE, LOCAL] = ['https://app.test/', 'http://127.0.0.1/a', 'http://localhost:1/a'];

  test.each<[string, uri: string, columns: Columns, isStill: boolean]>([
    ['is registered', APP, {}, true],
    ['is not', 'https://app.test/b', {}, false],
    ['has another port', 'https://app.test:444/', {}, false],
    ['has another port on a loopback host', 'http://127.0.0.1:51004/a', {}, true],
    ['has another path there', 'http://127.0.0.1:51004/b', {}, false],
    ['has another port on localhost', 'http://localhost:2/a', {}, false],
    ['has another port on localhost, of a public client', 'http://localhost:2/a', { public_client: true }, true],
    ['has another port on a loopback host, of a public client', 'http://127.0.0.1:2/a', { public_client: true }, true],
  ])('%s', async (_, uri, columns, isStill) => {
    const redirectUris = [APP, NATIVE, LOCAL];
    await set({ redirect_uris: redirectUris, ...columns });
    const found = await call.run(selectStill, { applicationId: here, uri, clientId: null });
    expect(found).toEqual([{ isStill }]);
    expect(isRegistered(uri, redirectUris, { isPublic: columns.public_client === true })).toBe(isStill);
  });

  test.each<[string, uri: string, clientId: string | null, redirectUris: string[]]>([
    ['leads to a device', '', null, [APP]],
    ['leads to another client', 'https://client.test/', 'client', [APP]],
    ['leads to a page of Usher', 'https://usher.test/', null, []],
  ])('%s', async (_, uri, clientId, redirectUris) => {
    await set({ redirect_uris: redirectUris });
    expect(await call.run(selectStill, { applicationId: here, uri, clientId })).toEqual([{ isStill: true }]);
  });
});

test('those that the file declares are counted, and those that it did, without the deleted', async () => {
  const before = await countDeclared(call.run);
  for (const declared_by_file of [true, true, false]) {
    await createApplication({ declared_by_file });
    await createApplication({
      declared_by_file,
      deleted_at: NOW,
      resource_uri: `${URI}/${randomBytes(4).toString('hex')}`,
    });
  }
  const { declared, gone } = await countDeclared(call.run);
  expect([declared - before.declared, gone - before.gone]).toEqual([2, 1]);
});
