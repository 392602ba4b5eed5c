/** What the lists of the audit log have, by every combination of filters, beside a model of them. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { NO_APPLICATION } from '../../../../src/database/schema/audit-schema.ts';
import {
  type AuditEvent,
  listAuditEvents,
  listOperatorEvents,
  presentAuditEvent,
} from '../../../../src/domain/audit/list-audit-events.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { at, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createApplication } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);
const call = callAt();

const [SIGN_IN, CHECK_IN, CALLBACK] = ['AuthService/ExchangeToken', 'EventService/CheckIn', 'GET /login/callback/test'];
const [UPDATE, DELETE, RARE] = ['AdminService/UpdateUser', 'EventService/DeleteEvent', 'AdminService/EraseUser'];
const [HERE, THERE, KEY] = [randomUUID(), await createApplication(), randomUUID()];
const [PERSON, OTHER] = [randomUUID(), randomUUID()];

interface Row {
  readonly application_id: string;
  readonly occurred_at: Date;
  readonly id: string;
  readonly actor_type: string;
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
}

const rows: Row[] = [];
function add(
  action: string,
  actor_type: string,
  actor: string,
  resource: string,
  application_id: string = HERE,
  ms?: number,
) {
  const occurred_at = at(ms ?? rows.length * 1_000 - 10_000_000);
  rows.push({ application_id, occurred_at, id: randomUUID(), actor_type, actor, action, resource });
}

add(RARE, 'admin_key', 'deploy', OTHER);
// More than a page of frequent actions looks through.
for (let count = 0; count < 510; count++) add(CHECK_IN, 'api_key', KEY, 'event/ada', THERE);
for (const application of [HERE, THERE, NO_APPLICATION])
  for (const action of [UPDATE, DELETE, SIGN_IN, CALLBACK])
    for (const resource of [PERSON, OTHER]) {
      add(action, 'admin_key', 'deploy', resource, application);
      add(action, 'login_page', '', resource, application);
      add(action, 'console', PERSON, resource, application);
      add(action, 'console', OTHER, resource, application);
      add(action, 'admin_key', PERSON, resource, application);
    }
// At the same instant, the ID decides.
for (let count = 0; count < 10; count++) {
  add(UPDATE, 'login_page', '', PERSON, HERE, -1_000);
  add(UPDATE, 'console', PERSON, OTHER, HERE, -1_000);
}
for (const resource of [PERSON, OTHER]) add(UPDATE, 'api_key', KEY, resource, THERE);
const audit = { ip_address: '::1', request_id: 'r' };
await sql`insert into audit_events ${sql(rows.map((row) => ({ ...row, ...audit })))}`;
await insert('api_keys', { application_id: THERE, id: KEY });

interface Filters {
  readonly applicationId?: string;
  readonly resource?: string;
  readonly actor?: string;
  readonly action?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly person?: string;
}

const isFrequent = ({ action }: Row) => [SIGN_IN, CHECK_IN, CALLBACK].includes(action);
const newestFirst = (one: Row, two: Row) =>
  two.occurred_at.getTime() - one.occurred_at.getTime() || (one.id < two.id ? 1 : -1);

/** Returns the events that the list has, as its documentation says. */
function listExpected({ applicationId, resource, actor, action, since, until, person }: Filters): readonly Row[] {
  const inTime = (row: Row) => (!since || row.occurred_at >= since) && (!until || row.occurred_at < until);
  const among = rows.filter((row) => inTime(row) && (!applicationId || row.application_id === applicationId));
  const isFound = (row: Row) =>
    (!resource || (row.resource === resource && row.action !== CHECK_IN)) &&
    (!actor || (row.actor === actor && (action !== undefined || resource !== undefined || !isFrequent(row)))) &&
    (!action || row.action === action);
  const ofPerson = (row: Row) =>
    (row.actor_type === 'console' && row.actor === person) ||
    (row.actor_type === 'login_page' && row.resource === person);
  return among.filter((row) => isFound(row) && (!person || ofPerson(row))).toSorted(newestFirst);
}

const VALUES = {
  applicationId: [HERE, NO_APPLICATION],
  resource: [PERSON, OTHER],
  actor: ['deploy', PERSON, KEY],
  action: [UPDATE, SIGN_IN, CALLBACK],
  person: [PERSON],
} as const;
const TIMES = [{}, { since: at(-10_000_000 + 560_000), until: at(-10_000_000 + 600_000) }];

function listFilters(): readonly Filters[] {
  let all: readonly Filters[] = TIMES;
  for (const [name, values] of Object.entries(VALUES))
    all = all.flatMap((filters) => [filters, ...values.map((value) => ({ ...filters, [name]: value }))]);
  return all.filter(({ actor, person }) => actor === undefined || person === undefined);
}

const toRequest = ({ since, until, ...filters }: Filters) => ({
  ...filters,
  ...(since && { since: since.toISOString() }),
  ...(until && { until: until.toISOString() }),
});
const toIds = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id);

test('a page has the events that its filters name, the newest first', async () => {
  for (const filters of listFilters()) {
    const page = await listAuditEvents(call, tokens, { ...toRequest(filters), pageSize: 50 });
    expect(toIds(page.rows), JSON.stringify(filters)).toEqual(toIds(listExpected(filters).slice(0, 50)));
  }
});

test.each<[string, Filters]>([
  ['a rare action', { action: RARE }],
  ['a rare action in an application', { action: RARE, applicationId: HERE }],
  ['a rare actor', { actor: 'deploy', resource: OTHER, action: RARE }],
])('%s is found at once behind many others', async (_, filters) => {
  const { rows: found } = await listAuditEvents(call, tokens, filters);
  expect(toIds(found)).toEqual(toIds(rows.slice(0, 1)));
});

test('pages of what a person has done follow one another', async () => {
  const found: AuditEvent[] = [];
  let pageToken: string | undefined;
  do {
    const page = await listAuditEvents(call, tokens, { person: PERSON, pageSize: 7, ...(pageToken && { pageToken }) });
    found.push(...page.rows);
    pageToken = page.nextPageToken;
  } while (pageToken);
  expect(toIds(found)).toEqual(toIds(listExpected({ person: PERSON })));
});

test('a person is no actor', async () => {
  const refused = listAuditEvents(call, tokens, { person: PERSON, actor: 'deploy' });
  await expect(refused).rejects.toMatchObject({ violations: [{ field: 'actor' }] });
});

test('the list of operators has what they did, without completed logins and the own sign-ins', async () => {
  const completed = { action: 'AdminService/CompleteLogin', actor_type: 'console', actor: PERSON, resource: OTHER };
  const occurred = { application_id: HERE, occurred_at: NOW, id: randomUUID() };
  await sql`insert into audit_events ${sql({ ...completed, ...occurred, ...audit })}`;
  const { rows: found } = await listOperatorEvents(call, tokens, { readerId: PERSON, pageSize: 100 });
  const isOwnSignIn = ({ action, actor }: Row) => action === SIGN_IN && actor === PERSON;
  const expected = rows.filter((row) => ['admin_key', 'console'].includes(row.actor_type) && !isOwnSignIn(row));
  expect(toIds(found)).toEqual(toIds(expected.toSorted(newestFirst)).slice(0, 100));
});

describe('an event is shown', () => {
  const event = {
    ...{ applicationId: HERE, occurredAt: NOW, id: KEY, actorType: 'console', actor: 'ada', action: UPDATE },
    ...{ resource: OTHER, ipAddress: '::1', requestId: 'r', onBehalfBy: null, note: null },
  };
  const { id, onBehalfBy: _by, note: _note, ...rest } = event;
  const shown = { ...rest, occurredAt: NOW.toISOString(), auditEventId: id };
  const { applicationId: _application, ...withoutApplication } = shown;
  test.each<[string, given: Partial<AuditEvent>, result: object]>([
    ['with its application', {}, shown],
    ['without one', { applicationId: NO_APPLICATION }, withoutApplication],
    ['with its note', { note: 'Why' }, { ...shown, note: 'Why' }],
    ['with who did it', { onBehalfBy: 'lin' }, { ...shown, onBehalfBy: 'lin' }],
  ])('%s', (_, given, result) => {
    expect(presentAuditEvent({ ...event, ...given })).toEqual(result);
  });
});
