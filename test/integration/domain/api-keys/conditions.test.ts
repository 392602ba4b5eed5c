/** Conditions of the statements about API keys, a row each. What operators see: test/contract/api-keys.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ApiKeys } from '../../../../src/domain/api-keys/api-keys.ts';
import { createApiKey } from '../../../../src/domain/api-keys/create-api-key.ts';
import { listApiKeys } from '../../../../src/domain/api-keys/list-api-keys.ts';
import { revokeApiKey } from '../../../../src/domain/api-keys/revoke-api-key.ts';
import { rotateApiKey } from '../../../../src/domain/api-keys/rotate-api-key.ts';
import { digestOf, generateApiKey } from '../../../../src/domain/applications/api-key.ts';
import type { Call } from '../../../../src/domain/core/call.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { at, HOUR, NOW, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createApplication } = await openDomain();
const call = callAt();
const tokens = new PageTokens([Buffer.alloc(32)]);

type Columns = Readonly<Record<string, unknown>>;

let here: string;
let other: string;
beforeEach(async () => {
  await sql`delete from api_keys`;
  [here, other] = [await createApplication(), await createApplication()];
});

/** Inserts a key, and returns it with its ID. */
async function insertKey(columns: Columns = {}) {
  const apiKey = generateApiKey();
  const digest = Buffer.from(digestOf(apiKey), 'hex');
  const { id } = await insert('api_keys', { application_id: here, digest, ...columns });
  return { id, apiKey };
}
const set = (columns: Columns, table = 'applications', id = here) =>
  sql`update ${sql(table)} set ${sql(columns as never)} where id = ${id}`;

describe('a key', () => {
  test('has the name of its application and the day, where it has none', async () => {
    await set({ name: 'Shop' });
    await createApiKey(call, { applicationId: here });
    await createApiKey(call, { applicationId: here, name: 'Till' });
    const day = NOW.toISOString().slice(0, 10);
    expect(await sql`select name from api_keys order by name`).toEqual([{ name: `Shop ${day}` }, { name: 'Till' }]);
  });

  test.each([
    [0, 'VALIDATION_FAILED'],
    [1, 'done'],
  ])('that ends %d ms from now: %s', async (ms, answer) => {
    expect(await reason(createApiKey(call, { applicationId: here, expiresAt: at(ms).toISOString() }))).toBe(answer);
  });

  test.each<[string, prepare: (id: string) => PromiseLike<unknown>, revoked: string, rotated?: string]>([
    ['is revoked and rotated', async () => undefined, 'done'],
    ['is revoked once', (id) => set({ revoked_at: at(-1) }, 'api_keys', id), 'API_KEY_NOT_FOUND'],
    ['of a deleted application', () => set({ deleted_at: NOW }), 'done', 'API_KEY_NOT_FOUND'],
    [
      'that was replaced, of a deleted application',
      (id) => set({ replaced_by: id }, 'api_keys', id).then(() => set({ deleted_at: NOW })),
      'done',
      'API_KEY_NOT_FOUND',
    ],
    [
      'that was replaced and revoked',
      (id) => set({ replaced_by: id, revoked_at: at(-1) }, 'api_keys', id),
      'API_KEY_NOT_FOUND',
    ],
    ['that ends now', (id) => set({ expires_at: NOW }, 'api_keys', id), 'done', 'API_KEY_NOT_FOUND'],
    ['that ends later', (id) => set({ expires_at: at(1) }, 'api_keys', id), 'done'],
    ['that was replaced', (id) => set({ replaced_by: id }, 'api_keys', id), 'done', 'API_KEY_REPLACED'],
  ])('%s', async (_, prepare, revoked, rotated = revoked) => {
    const { id } = await insertKey();
    const neighbor = await insertKey();
    await prepare(id);
    const before = await sql`select * from api_keys order by id`;
    expect(await reason(rotateApiKey(call, { apiKeyId: id }))).toBe(rotated);
    if (rotated !== 'done') expect(await sql`select * from api_keys order by id`).toEqual(before);
    expect(await reason(revokeApiKey(call, { apiKeyId: id }))).toBe(revoked);
    const ended = await sql`select id from api_keys where revoked_at = ${NOW}`;
    expect(ended).toEqual(revoked === 'done' ? [{ id }] : []);
    expect(await sql`select * from api_keys where id = ${neighbor.id}`).toEqual(
      before.filter((row) => row.id === neighbor.id),
    );
  });
});

describe('the list of keys', () => {
  test.each<[string, application: Columns, key: Columns, isManaged: boolean]>([
    ['shows one that the file has declared', { declared_by_file: true }, { declared_by_file: true }, true],
    ['shows one beside those of the file', { declared_by_file: true }, {}, false],
    ['shows one that the file declared', { declared_by_file: false }, { declared_by_file: true }, false],
    ['shows one of an application that no file has named', {}, { declared_by_file: true }, false],
  ])('%s', async (_, application, key, declaredByFile) => {
    await set({ declared_by_file: null, ...application });
    const { id: apiKeyId } = await insertKey(key);
    await insertKey({ application_id: other });
    const { rows } = await listApiKeys(call, tokens, { applicationId: here });
    expect(rows).toMatchObject([{ apiKeyId, declaredByFile }]);
  });

  test('of a deleted application is none', async () => {
    await insertKey();
    await set({ deleted_at: NOW });
    expect(await reason(listApiKeys(call, tokens, { applicationId: here }))).toBe('APPLICATION_NOT_FOUND');
  });
});

/** Returns a caller's keys, and the parameters of the statements that read or store them. */
function openKeys(now = NOW) {
  const sent: Readonly<Record<string, unknown>>[] = [];
  const read: (readonly unknown[])[] = [];
  const run: Call['run'] = async (statement, parameters) => {
    sent.push(parameters as never);
    const rows = await call.run(statement, parameters);
    read.push(rows as never);
    return rows;
  };
  const clock = { now };
  return { sent, read, run, clock, keys: new ApiKeys(run, () => clock.now) };
}

test('only the keys that are in use are read', async () => {
  const { apiKey, id } = await insertKey();
  await insertKey({ application_id: other });
  const { keys, read } = openKeys();
  await keys.authenticate(apiKey);
  expect(read).toMatchObject([[{ apiKeyId: id }]]);
});

const toMinute = (instant: Date) => new Date(Math.floor(instant.getTime() / 60_000) * 60_000);

describe('the last use of a key', () => {
  const [MINUTE, USED, LATER] = [60_000, toMinute(NOW), toMinute(at(HOUR))];
  const readUsed = async (id: string) => {
    const [row] = await sql`select last_used_at, xmin::text as version from api_keys where id = ${id}`;
    return row;
  };

  test.each<[string, before: Date | null, after: Date]>([
    ['is stored first', null, USED],
    ['is stored again', at(-HOUR), USED],
    ['that another replica has stored stays', LATER, LATER],
  ])('%s', async (_, before, after) => {
    const { apiKey, id } = await insertKey({ last_used_at: before });
    const neighbor = await insertKey();
    const { keys, run } = openKeys();
    await keys.authenticate(apiKey);
    await keys.saveUses(run);
    expect([(await readUsed(id))?.last_used_at, (await readUsed(neighbor.id))?.last_used_at]).toEqual([after, null]);
    const stored = await readUsed(id);
    await keys.authenticate(apiKey);
    await keys.saveUses(run);
    expect(await readUsed(id)).toEqual(stored);
  });

  test('is stored by no statement where there is none, or where it is stored', async () => {
    const { keys, run, sent } = openKeys();
    await keys.saveUses(run);
    expect(sent).toEqual([]);
    await keys.authenticate((await insertKey()).apiKey);
    sent.length = 0;
    for (let times = 0; times < 2; times++) await keys.saveUses(run);
    expect(sent).toHaveLength(1);
  });

  test('is stored with others in one order, a thousand at a time', async () => {
    const created = Array.from({ length: 1_001 }, generateApiKey);
    const columns = { application_id: here, created_at: NOW };
    const rows = created.map((apiKey) => ({
      ...columns,
      id: randomUUID(),
      digest: Buffer.from(digestOf(apiKey), 'hex'),
    }));
    await sql`insert into api_keys ${sql(rows)}`;
    const { keys, run, sent } = openKeys();
    await Promise.all(created.map((apiKey) => keys.authenticate(apiKey)));
    sent.length = 0;
    await keys.saveUses(run);
    const batches = sent.map(({ ids }) => ids as string[]);
    expect(batches.map(({ length }) => length)).toEqual([1_000, 1]);
    expect(batches.flat()).toEqual(batches.flat().toSorted());
  });

  test('that comes while others are stored is stored the next time', async () => {
    const { apiKey, id } = await insertKey();
    const { keys, run, clock } = openKeys();
    await keys.authenticate(apiKey);
    await keys.saveUses(async (statement, parameters) => {
      clock.now = at(MINUTE);
      await keys.authenticate(apiKey);
      return run(statement, parameters);
    });
    expect((await readUsed(id))?.last_used_at).toEqual(USED);
    await keys.saveUses(run);
    expect((await readUsed(id))?.last_used_at).toEqual(toMinute(at(MINUTE)));
  });

  test.each([
    ['is stored the next time, if it could not be', 0],
    ['that came meanwhile is stored the next time, if the other could not be', MINUTE],
  ])('%s', async (_, ms) => {
    const { apiKey, id } = await insertKey();
    const { keys, run, clock } = openKeys();
    await keys.authenticate(apiKey);
    const failed = keys.saveUses(async () => {
      clock.now = at(ms);
      if (ms > 0) await keys.authenticate(apiKey);
      throw new Error('gone');
    });
    await expect(failed).rejects.toThrow('gone');
    await keys.saveUses(run);
    expect((await readUsed(id))?.last_used_at).toEqual(toMinute(at(ms)));
  });
});
