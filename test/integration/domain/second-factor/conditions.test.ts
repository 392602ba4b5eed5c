/** Each condition of what uses up a second factor, a row each. Its tries: test/domain/second-factor. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import { usedFactor } from '../../../../src/domain/second-factor/check-second-factor.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createUser } = await openDomain();
type Columns = Readonly<Record<string, unknown>>;

let userId: string;
let stranger: string;
beforeEach(async () => {
  [userId, stranger] = [await createUser(), await createUser()];
});

const use = statement('use_factor', { userId: t.uuid })`
  with live as (select ${p.uuid('userId')} as user_id), ${usedFactor} select user_id from factor`;

test.each<[string, columns: Columns, given: Columns, isUsed: boolean]>([
  ['is used', {}, {}, true],
  ['is used once in its time', { last_step: 7 }, {}, false],
  ['is not used before that', { last_step: 8 }, {}, false],
  ['is used once it counts', { counts_from: NOW }, {}, true],
  ['is not used before it counts', { counts_from: at(1) }, {}, false],
  ['is not another app', {}, { factorId: randomUUID() }, false],
])('a code of an app %s', async (_, columns, given, isUsed) => {
  const before = { last_step: '3', last_used_at: at(-DAY) };
  const { id } = await insert('totp_secrets', { user_id: userId, ...before, ...columns });
  await insert('totp_secrets', { user_id: stranger, id, ...before });
  const used = await callAt().run(use, { userId, now: NOW, factorId: id, step: 7, digest: null, ...given } as never);
  expect(used).toEqual(isUsed ? [{ userId }] : []);
  const read = async (of: string) =>
    (await sql`select last_step, last_used_at from totp_secrets where user_id = ${of}`)[0];
  expect(await read(userId)).toMatchObject(
    isUsed
      ? { last_step: '7', last_used_at: NOW }
      : { last_step: String(columns.last_step ?? 3), last_used_at: at(-DAY) },
  );
  expect(await read(stranger)).toEqual(before);
});

test.each<[string, app: Columns | undefined, isTheirs: boolean, isUsed: boolean]>([
  ['is used', {}, false, true],
  ['of somebody else is not', {}, true, false],
  ['without an app is not', undefined, false, false],
  ['beside an app that does not count is not', { counts_from: at(HOUR) }, false, false],
  ['beside the app of somebody else is not', { user_id: 'stranger' }, false, false],
])('a recovery code %s', async (_, app, isTheirs, isUsed) => {
  if (app) await insert('totp_secrets', { user_id: userId, ...app, ...(app.user_id ? { user_id: stranger } : {}) });
  const [digest, kept] = [randomBytes(32), randomBytes(32)];
  await insert('recovery_codes', { user_id: isTheirs ? stranger : userId, digest });
  await insert('recovery_codes', { user_id: userId, digest: kept });
  const used = await callAt().run(use, { userId, now: NOW, factorId: null, step: null, digest } as never);
  expect(used).toEqual(isUsed ? [{ userId }] : []);
  const left = await sql`select from recovery_codes where digest in (${digest}, ${kept})`;
  expect(left).toHaveLength(isUsed ? 1 : 2);
});
