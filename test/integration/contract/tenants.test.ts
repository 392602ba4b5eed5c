/** What an application does to others: nothing. Protocols, statements and timing: test/robustness/tenant-isolation.test.ts. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import type { Operation } from '../../../src/api/catalogue.ts';
import { dumpTables } from '../../support/dump.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { type Answer, call, mainProtocolOf } from '../../support/protocols.ts';
import { answerToOthers, credentialFor, sampleFields } from '../../support/samples.ts';
import {
  adminClient,
  beginSession,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
} from '../../support/service.ts';

/** A fixed time, so that timestamps in answers are the same. */
const NOW = new Date();
const service = await startTestService({ clock: () => NOW });
afterAll(service.close);

const operations = OPERATIONS.filter(({ credential }) => credential === 'apiKey').map((operation) => ({
  ...operation,
  name: operation.method.name,
}));

/** Returns all rows, or those with the text, but no notices: a job removes them when it has sent them. */
async function dump(text?: string) {
  const { notices, ...others } = await dumpTables(service.database, text);
  return others;
}

const callAs = (caller: Tenant, operation: Operation, fields: Awaited<ReturnType<typeof sampleFields>>) =>
  call(mainProtocolOf(operation.method), service.url, operation.method, fields, credentialFor(operation, caller));

it.each(operations.filter(({ method }) => answerToOthers(method)))(
  '$name of what belongs to another application changes nothing, whoever is its user',
  async (operation) => {
    const { method, name } = operation;
    const [stranger, owner, user] = [
      await createTenant(service),
      await createTenant(service),
      await createTestUser(service),
    ];
    const fields = await sampleFields(method, { service, tenant: owner, user });
    // The user is one of the stranger as well, unless that is the question.
    if (name !== 'GetUser' && name !== 'BatchGetUsers') await beginSession(service, stranger, user);
    const before = await dump();
    expect(await callAs(stranger, operation, fields)).toEqual(answerToOthers(method));
    expect(await dump()).toEqual(before);
    expect(await callAs(owner, operation, fields)).toMatchObject({ code: 'ok' });
  },
);

it.each(operations)(
  '$name answers as ever where another application has the same IDs, of which it changes nothing',
  async (operation) => {
    const answerWith = async ({ hasTwin }: { hasTwin: boolean }) => {
      const [tenant, owner] = [await createTenant(service), await createTenant(service)];
      const names = { idSuffix: randomUUID(), user: await createTestUser(service) };
      const prepare = (of: Tenant) => sampleFields(operation.method, { service, tenant: of, ...names });
      if (hasTwin) {
        const fields = await prepare(owner);
        if (operation.name === 'CreateEvent') await callAs(owner, operation, fields);
      }
      const fields = await prepare(tenant);
      const before = await dump(owner.id);
      const answer = await callAs(tenant, operation, 'pageSize' in fields ? { ...fields, pageSize: 100 } : fields);
      expect(await dump(owner.id)).toEqual(before);
      return withoutIds(answer);
    };
    const answer = await answerWith({ hasTwin: true });
    expect(answer).toMatchObject({ code: 'ok' });
    expect(answer).toEqual(await answerWith({ hasTwin: false }));
  },
);

/** The fields of the operations that name a user. */
const naming = operations.flatMap(({ method, ...operation }) =>
  method.input.fields
    .filter(({ jsonName }) => /^(user|owner)Ids?$/.test(jsonName))
    .map(({ jsonName: field, fieldKind }) => ({ ...operation, method, field, isList: fieldKind === 'list' })),
);

it.each(naming)('$name tells nothing of a user of another application who is its $field', async (operation) => {
  const { method, field, isList } = operation;
  const [tenant, other] = [await createTenant(service), await createTenant(service)];
  const foreign = await createTestUser(service, { name: 'Somebody Else', applicationIds: [other.id] });
  await beginSession(service, other, foreign);
  const { id: deleted } = await createTestUser(service, { applicationIds: [tenant.id] });
  await adminClient(service).deleteUser({ userId: deleted });
  const answers: Answer[] = [];
  for (const id of [randomUUID(), foreign.id, deleted]) {
    const fields = await sampleFields(method, { service, tenant });
    const before = await dump(other.id);
    answers.push(withoutIds(await callAs(tenant, operation, { ...fields, [field]: isList ? [id] : id })));
    expect(await dump(other.id)).toEqual(before);
  }
  const [ofNobody] = answers;
  expect(answers).toEqual([ofNobody, ofNobody, ofNobody]);
  expect(JSON.stringify(answers)).not.toContain(foreign.email);
});

it('Fields that name a user are found by their names', () => {
  expect(naming.map(({ name, field }) => `${name} ${field}`).sort()).toEqual([
    'BatchGetUsers userIds',
    'CreateWebhook ownerId',
    'GetUser userId',
    'ListGrants userId',
    'ListSessions userId',
    'RevokeUserSessions userId',
    'UpdateWebhook ownerId',
  ]);
});

/** Returns the answer without what is new in each. */
function withoutIds(answer: Answer): Answer {
  const text = JSON.stringify(answer, (name, value) =>
    ['nextPageToken', 'cursor', 'until'].includes(name) ? value !== '' : value,
  );
  return JSON.parse(
    text
      .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{12,}/g, 'ID')
      .replaceAll(/msg_\d+/g, 'MESSAGE')
      .replaceAll(/whsec_[\w+/=]+/g, 'KEY'),
  );
}
