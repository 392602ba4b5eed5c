/** What an admin key opens, by its rights. How rights are written: test/config/secrets.test.ts. */
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { OPERATIONS as DECLARED, type Operation } from '../../src/api/catalogue.ts';
import { OPENED_BY } from '../../src/api/credentials.ts';
import { ADMIN_RIGHTS } from '../../src/config/admin-rights.ts';
import { createLogger } from '../../src/log.ts';
import { refusal, validationFailed } from '../support/answers.ts';
import { OPERATIONS } from '../support/operations.ts';
import { call, PROTOCOLS, supports } from '../support/protocols.ts';
import { sampleFields } from '../support/samples.ts';
import { createTestUser } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const keyOf = (right: string) => `a-key-with-the-right-${right}-of-sufficient-length`;
const lines: string[] = [];
const fixture = await openContractFixture({
  logger: createLogger('info', { write: (line) => void lines.push(line) }),
  config: {
    adminKeys: [
      ...ADMIN_RIGHTS.map((right) => ({ name: right, key: keyOf(right), rights: [right] })),
      { name: 'two', key: keyOf('two'), rights: ['login-page', 'applications'] },
      { name: 'unnamed', key: keyOf('unnamed') },
    ],
  },
});
const { service, callWith } = fixture;
const { sql } = service.database;
const MISSING_RIGHT = refusal('permission_denied', 'Missing right');
const isOfOperators = ({ credential }: Operation) => credential === 'adminKey';
const ADMIN_OPERATIONS = OPERATIONS.filter(isOfOperators);

it('every RPC of operators has a row in the table of rights, and only those', () => {
  expect(Object.keys(OPENED_BY).sort()).toEqual(AdminService.methods.map(({ localName }) => localName).sort());
  const declared = DECLARED.filter(isOfOperators);
  expect(declared.map(({ method }) => method.localName).sort()).toEqual(Object.keys(OPENED_BY).sort());
});

describe.each(ADMIN_OPERATIONS.map(({ method }) => ({ method, name: method.name })))('$name', ({ method }) => {
  const openedBy: readonly string[] = OPENED_BY[method.localName as keyof typeof OPENED_BY];

  it('answers keys with the right, and refuses all others before it reads the body', async () => {
    for (const right of ADMIN_RIGHTS) {
      const headers = { 'x-admin-key': keyOf(right) };
      const isOpen = right === 'all' || openedBy.includes(right);
      if (isOpen) expect((await callWith(method, await sampleFields(method, fixture), headers)).code, right).toBe('ok');
      else expect(await callWith(method, { unknown: 1 }, headers), right).toEqual(MISSING_RIGHT);
    }
  });
});

describe('a key', () => {
  const { createUser, createApplication, getUser, eraseUser } = AdminService.method;

  it.each(PROTOCOLS.filter((protocol) => supports(protocol, eraseUser)))(
    'without the right is refused over $name, and the log names it',
    async (protocol) => {
      lines.length = 0;
      const headers = { 'x-admin-key': keyOf('read') };
      const refused = 'admin key read';
      const ask = async () => {
        expect(await call(protocol, service.url, eraseUser, { userId: UNKNOWN_ID }, headers)).toEqual(MISSING_RIGHT);
        return lines.join('');
      };
      // The tests above have filled the log of this second, which leaves out further lines of refused calls.
      await expect.poll(ask).toContain(refused);
      const line = JSON.parse(lines.find((each) => each.includes(refused)) ?? '');
      expect(line).toMatchObject({ code: 'permission_denied', reason: 'MISSING_RIGHT', detail: 'admin key read' });
    },
  );

  it('without rights of its own has all, and one may have several', async () => {
    const newUser = () => ({ email: `${Math.random()}@example.com` });
    expect((await callWith(createUser, newUser(), { 'x-admin-key': keyOf('unnamed') })).code).toBe('ok');
    const two = { 'x-admin-key': keyOf('two') };
    const request = { name: 'New', redirectUris: ['https://app.test/callback'] };
    expect((await callWith(createApplication, request, two)).code).toBe('ok');
    expect((await callWith(getUser, { userId: UNKNOWN_ID }, two)).code).toBe('not_found');
    expect(await callWith(createUser, newUser(), two)).toEqual(MISSING_RIGHT);
    const events = await sql`select action from audit_events where actor = 'two'`;
    expect(events).toEqual([{ action: 'AdminService/CreateApplication' }]);
  });
});

describe('GetUser', () => {
  const { getUser } = AdminService.method;

  it('finds a user by e-mail address in any case, or by both', async () => {
    const { id, email } = await createTestUser(service);
    for (const fields of [{ email }, { email: email.toUpperCase() }, { userId: id, email }, { userId: id }]) {
      expect(await callWith(getUser, fields)).toMatchObject({ code: 'ok', data: { user: { id, email } } });
    }
    const another = await createTestUser(service);
    for (const fields of [{ email: `x${email}` }, { userId: another.id, email }, { userId: UNKNOWN_ID, email }]) {
      expect(await callWith(getUser, fields)).toEqual(refusal('not_found', 'User not found'));
    }
    for (const fields of [{}, { userId: '' }, { userId: 'ada' }, { userId: 'ada', email }]) {
      expect(await callWith(getUser, fields)).toEqual(validationFailed('userId'));
    }
    expect(await callWith(getUser, { email: 'a'.repeat(255) })).toEqual(validationFailed('email'));
  });
});
