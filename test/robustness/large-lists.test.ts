/**
 * Pages of lists cost the same however many rows there are: at the beginning of a list, deep in it, and in an empty one.
 * `LIST_ROWS=10000000 npm test -- --mode lab --testTimeout 14400000 test/robustness/large-lists.test.ts` takes more rows.
 */
import type { JsonObject } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import type { TestDatabase } from '../support/database.ts';
import { LIST_OPERATIONS } from '../support/lists.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import { credentialFor } from '../support/samples.ts';
import {
  createTenant,
  createTestEvent,
  createTestGroup,
  createTestUser,
  createTestWebhook,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import {
  countBuffers,
  type ExplainedStatement,
  type PlanMode,
  StatementExplainer,
} from '../support/statement-explainer.ts';

const FEW = quickOrLong(1_000, 10_000);
const MANY = quickOrLong(30_000, Number(process.env.LIST_ROWS ?? 1_000_000));
const PAGE_SIZE = 50;
/** When the first row was added. */
const START = new Date(Date.now() - 60 * 60_000);
const MODES: readonly PlanMode[] = ['force_custom_plan', 'force_generic_plan'];
/** Its generic plan is for a tenth of the log, so Postgres never prefers it. */
const PLANNED_ANEW = 'select_audit_events_by_application';
/** Each level that an index has more is a page for each row that it looks up, in up to three tables. */
const MORE_BUFFERS = 3 * (PAGE_SIZE + 1);

test('every list reads as many pages of memory among many rows as among few', async (context) => {
  await using service = await startTestService();
  const large = await createScope(service);
  const small = await createScope(service);

  /** Returns how many pages each list reads, by its statement and the place in the list. */
  async function countAll(
    { tenant, eventId, webhookId, ownerId, groupId }: Scope,
    afterAt: Date,
  ): Promise<ReadonlyMap<string, number>> {
    using explainer = new StatementExplainer(service.database, {
      options: 'analyze, buffers, format json',
      modes: MODES,
    });
    const { id: applicationId } = tenant;
    const fieldsOf: Readonly<Record<string, readonly JsonObject[]>> = {
      ListApiKeys: [{ applicationId }],
      ListAuditEvents: [{}, { applicationId }],
      ListAttendees: [{ eventId }],
      ListCheckIns: [{ eventId }],
      ListDeliveries: [{ webhookId }],
      ListGroupMembers: [{ groupId }],
      ListGrants: [{}, { userId: ownerId }],
      ListRecoveryLinks: [{ userId: ownerId }],
      ListSignInAttempts: [{ userId: ownerId }, { applicationId }],
      ListUserApplications: [{ userId: ownerId }],
      ListUserGroups: [{ userId: ownerId }],
      ListUserGrants: [{ userId: ownerId }],
      ListUserSessions: [{ userId: ownerId }],
    };
    for (const operation of LIST_OPERATIONS) {
      const { method } = operation;
      for (const fields of fieldsOf[method.name] ?? [{}]) {
        const headers = credentialFor(operation, tenant);
        const request = { ...fields, pageSize: PAGE_SIZE };
        expect(await call(mainProtocolOf(method), service.url, method, request, headers)).toMatchObject({ code: 'ok' });
      }
    }
    const counts = new Map<string, number>();
    for (const { name, statement, parameters } of explainer.explained.filter(isOfList)) {
      for (const [label, changes] of Object.entries({
        'first page': {},
        'deep page': { afterAt, from: String(afterAt.getTime() - START.getTime()) },
        ...(name === 'select_deliveries' && { pending: { status: 'pending' }, failed: { afterAt, status: 'failed' } }),
      })) {
        const { plans } = await explainer.explainStatement(statement, { ...parameters, ...changes });
        for (const mode of MODES.filter((mode) => mode !== 'force_generic_plan' || name !== PLANNED_ANEW))
          counts.set(`${name}, ${label}, ${mode}`, countBuffers(plans[mode]));
      }
    }
    return counts;
  }

  // The middle of what `addRows` has added.
  const middleOf = (rows: number) => new Date(START.getTime() + rows / 2);
  await addRows(service.database, large, { first: 0, last: FEW });
  const few = await countAll(large, middleOf(FEW));
  await addRows(service.database, large, { first: FEW + 1, last: MANY });
  const many = await countAll(large, middleOf(MANY));
  const empty = await countAll(small, middleOf(MANY));

  const rows = [...few].map(([list, few]) => ({
    list,
    few,
    many: many.get(list) ?? Number.NaN,
    empty: empty.get(list),
  }));
  const most = rows.reduce((a, b) => (b.many - b.few > a.many - a.few ? b : a));
  report(context, {
    tried: `${few.size} pages of lists with ${FEW} and ${MANY} rows each`,
    figures: `at most ${most.many - most.few} pages of memory more: ${most.list} reads ${most.few} and ${most.many}`,
  });
  expect(new Set(rows.map(({ list }) => list.split(',')[0])).size).toBeGreaterThanOrEqual(LIST_OPERATIONS.length);
  expect(rows.filter(({ few, many, empty = Number.NaN }) => !(Math.max(many, empty) <= few + MORE_BUFFERS))).toEqual(
    [],
  );
});

interface Scope {
  readonly tenant: Tenant;
  readonly eventId: string;
  readonly webhookId: string;
  readonly ownerId: string;
  readonly groupId: string;
}

async function createScope(service: TestService): Promise<Scope> {
  const tenant = await createTenant(service);
  const { id: ownerId } = await createTestUser(service);
  const eventId = await createTestEvent(service, tenant);
  const { webhookId } = await createTestWebhook(service, tenant, { ownerId });
  const { groupId } = await createTestGroup(service, { userIds: [ownerId] });
  return { tenant, eventId, webhookId, ownerId, groupId };
}

/** Attendees are ordered by version, all other lists by time. */
function isOfList({ name, parameters }: ExplainedStatement): boolean {
  return 'afterAt' in parameters || name === 'select_attendees';
}

/**
 * Adds rows to every table that is listed: each a millisecond later than the one before, all of one application. The
 * owner gets those of a page in other applications: the lists of a user are as long as the user has applications.
 */
async function addRows(
  { sql }: TestDatabase,
  { tenant, eventId, webhookId, ownerId, groupId }: Scope,
  { first, last }: { first: number; last: number },
) {
  const { id: applicationId } = tenant;
  // As a replica Postgres does not check foreign keys, which takes most of the time.
  const statements = `
    set local session_replication_role = replica;
    create temporary table row as
      select n, '${START.toISOString()}'::timestamptz + n * interval '1 millisecond' as at, md5(n::text)::uuid as id
      from generate_series(${first}, ${last}) n;
    insert into applications (id, name, client_id, redirect_uris, created_at) select id, '', n, '{}', at from row;
    insert into api_keys (application_id, id, digest, created_at) select '${applicationId}', id, uuid_send(id), at from row;
    insert into users (id, email, wallet_address, created_at) select id, n, 'wallet ' || n, at from row;
    create temporary table sign_in as
      select '${applicationId}'::uuid as application_id, id as user_id, id, n, at from row
      union all select id, '${ownerId}', id, n, at from row where n < ${PAGE_SIZE};
    insert into application_users select application_id, user_id, at from sign_in;
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
        authenticated_at, began_at, created_at, expires_at)
      select application_id, user_id, id, n, '', '::1', '', 'page', at, at, at, at + interval '1 day' from sign_in;
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
        rotation, created_at, expires_at)
      select application_id, id, user_id, id, 1, 'page', '::1', '', at, 0, at, at + interval '1 day' from sign_in;
    -- There are at most 1,000 groups, and a user is in at most 100.
    insert into groups (id, name, created_at) select id, n, at from row where n < 1000;
    insert into group_members select '${groupId}', id, at from row
      union all select id, '${ownerId}', at from row where n < ${PAGE_SIZE};
    insert into events (application_id, id, created_at) select '${applicationId}', id, at from row;
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
      select '${applicationId}', '${eventId}', id, at from row;
    insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
      select '${applicationId}', '${eventId}', id, '', false, n, at from row;
    insert into audit_events select '${applicationId}', at, id, 'admin_key', 'admin', 'test', '', '::1', '' from row;
    insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at)
      select '${applicationId}', 'wh_' || md5(n::text), '', signing_key, '${ownerId}', at, at
      from row, (select signing_key from webhooks where id = '${webhookId}') as valid;
    insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select '${applicationId}', 'event.created', '{}', at, null from row order by n;
    insert into webhook_deliveries (application_id, webhook_id, message_id, status, created_at)
      select application_id, '${webhookId}', id, case id % 2 when 0 then 'failed' else 'succeeded' end, created_at
      from webhook_messages where created_at > (select min(at) from row)
      on conflict do nothing;
    drop table row, sign_in`;
  await sql.begin((transaction) => transaction.unsafe(statements));
  await sql`vacuum analyze`;
}
