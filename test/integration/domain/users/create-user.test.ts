/** Each condition of the statement that creates a user, and the limits of requests, a row each. What people see: test/contract/users.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { createUser as create } from '../../../../src/domain/users/create-user.ts';
import { getUser } from '../../../../src/domain/users/get-user.ts';
import { listUsers } from '../../../../src/domain/users/list-users.ts';
import { NOW, openDomain, reasonOf } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, readTold, createUser, createApplication } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);
const call = callAt();

let here: string;
let other: string;
let userId: string;
let email: string;
beforeEach(async () => {
  [here, other] = [await createApplication(), await createApplication()];
  email = `${randomUUID()}@example.com`;
  userId = await createUser({ email });
  await insert('webhooks', { application_id: here });
  readTold();
});

type Columns = Readonly<Record<string, unknown>>;
const setUser = (columns: object) =>
  sql`update users set ${sql({ id: userId, ...columns } as never)} where id = ${userId}`;

describe('a new user', () => {
  const given = (fields: object = {}) => ({ email: `${randomUUID()}@example.com`, ...fields });

  test.each<[string, before: () => Columns, fields: () => object, reason: string | undefined]>([
    ['with a taken address', () => ({}), () => ({ email }), 'USER_ALREADY_EXISTS'],
    [
      'with another spelling of a taken address',
      () => ({ email: 'twin@bücher.test' }),
      () => ({ email: 'twin@xn--bcher-kva.test' }),
      'USER_ALREADY_EXISTS',
    ],
    ['with that of a deleted one', () => ({ deleted_at: NOW }), () => ({ email }), undefined],
    [
      'with a taken external ID',
      () => ({ external_id: email }),
      () => ({ externalId: email }),
      'EXTERNAL_ID_ALREADY_EXISTS',
    ],
    [
      'with a taken address, and the external ID of a deleted one',
      () => ({ external_id: email, deleted_at: NOW, email: 'gone' }),
      () => ({ externalId: email, email: 'taken@example.com' }),
      'USER_ALREADY_EXISTS',
    ],
    ['of a deleted application', () => ({}), () => ({ applicationIds: [other] }), 'APPLICATION_NOT_FOUND'],
  ])('%s', async (_, before, fields, reason) => {
    await sql`update applications set deleted_at = ${NOW} where id = ${other}`;
    await sql`insert into users (id, email, wallet_address, created_at) values
      (gen_random_uuid(), 'taken@example.com', '', ${NOW}) on conflict do nothing`;
    await setUser({ external_id: null, ...before() });
    const answer = await create(call, given(fields())).then(() => undefined, reasonOf);
    expect(answer).toBe(reason);
  });

  test('costs no statement about what is not given', async () => {
    const sent: string[] = [];
    const run: typeof call.run = (statement, parameters) => {
      sent.push(statement.name);
      return call.run(statement, parameters);
    };
    await create({ ...call, run }, given({ applicationIds: [] }));
    expect(await create({ ...call, run }, { email }).catch(reasonOf)).toBe('USER_ALREADY_EXISTS');
    expect(sent).toEqual(['insertUser', 'insertUser']);
  });

  test('is told to the applications, each once', async () => {
    const { id } = await create(call, given({ applicationIds: [here, here] }));
    const added = await sql`select application_id, added_at from added_users where user_id = ${id}`;
    expect([added, readTold()]).toEqual([[{ application_id: here, added_at: NOW }], [here]]);
  });
});

test.each<[string, () => Promise<unknown>, reason: string]>([
  [
    '100 applications',
    () => create(call, { email: 'a@b.test', applicationIds: Array.from({ length: 100 }, randomUUID) }),
    'APPLICATION_NOT_FOUND',
  ],
  [
    'one more',
    () => create(call, { email: 'a@b.test', applicationIds: Array.from({ length: 101 }, randomUUID) }),
    'VALIDATION_FAILED',
  ],
  ['no applications', () => create(call, { email: `${randomUUID()}@b.test`, applicationIds: [] }), 'done'],
  [
    'an external ID of 255 characters',
    () => create(call, { email: `${randomUUID()}@b.test`, externalId: 'x'.repeat(255) }),
    'done',
  ],
  ['one more', () => create(call, { email: 'a@b.test', externalId: 'x'.repeat(256) }), 'VALIDATION_FAILED'],
  ['a filter of 254 characters', () => listUsers(call, tokens, { email: 'x'.repeat(254) }), 'done'],
  ['a longer one', () => listUsers(call, tokens, { email: 'x'.repeat(255) }), 'VALIDATION_FAILED'],
  ['an address of 254 characters', () => getUser(call, { email: `${'x'.repeat(245)}@x.de.com` }), 'USER_NOT_FOUND'],
  ['a longer one', () => getUser(call, { email: `${'x'.repeat(246)}@x.de.com` }), 'VALIDATION_FAILED'],
])('a request with %s', async (_, ask, reason) => {
  expect(await ask().then(() => 'done', reasonOf)).toBe(reason);
});
