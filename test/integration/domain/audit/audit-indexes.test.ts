/** What a filtered page of the audit log reads, and what the indexes that make it cheap cost each event. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import type { Statement } from '../../../../src/database/pool/database.ts';
import { formOf } from '../../../../src/database/pool/statement-runner.ts';
import { listAuditEvents } from '../../../../src/domain/audit/list-audit-events.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { cloneDatabase } from '../../../support/database.ts';
import { RecordingDatabase } from '../../../support/recording-database.ts';
import { quickOrLong, report } from '../../../support/soak.ts';
import { countBuffers, isPlannedAnew, StatementExplainer } from '../../../support/statement-explainer.ts';

/** The long form, `npm test -- --mode lab` with this path, has a million. */
const EVENTS = quickOrLong(20_000, 1_000_000);
/** Events of the busy resource: more would also be read by their index. */
const OF_RESOURCE = 2_000;
/** Every third of so many. One of 333,000 events would cost up to 4,901 pages, with filters that fit none of them. */
const OF_ANOTHER = 20_000;
const PAGE_SIZE = 50;
/**
 * Of a million, 4 combinations of 1,050 read up to 284: a sign-in by code, of an actor in an application, which looks
 * through 500 events. All others read at most 200.
 */
const MOST_BUFFERS = quickOrLong(200, 300);
const MOST_OF_OTHERS = 200;

const [BUSY, RARE, KEY_OF_RARE] = [randomUUID(), randomUUID(), randomUUID()];
/** Ada signs in often, and the operator checks people in. */
const [ADA, OPERATOR] = [randomUUID(), randomUUID()];

const database = await cloneDatabase();
const recording = new RecordingDatabase(database.url);
afterAll(async () => {
  await recording[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
await fill();

/** A value of many events, one of few, one of many others, and one of none. */
const VALUES = {
  applicationId: [BUSY, RARE, '00000000-0000-0000-0000-000000000000', randomUUID()],
  actor: ['deploy', KEY_OF_RARE, 'night-shift', 'nobody'],
  action: [
    ...['AdminService/UpdateUser', 'EventService/DeleteEvent', 'AdminService/CreateUser', 'AdminService/EraseUser'],
    'POST /login/code',
  ],
  resource: ['busy', 'of another', 'of none', ADA],
  person: [ADA, OPERATOR],
} as const;
type Filters = { readonly [Name in keyof typeof VALUES]?: string };

function listFilters(): readonly Filters[] {
  let all: Filters[] = [{}];
  for (const [name, values] of Object.entries(VALUES))
    all = all.flatMap((filters) => [filters, ...values.map((value) => ({ ...filters, [name]: value }))]);
  return all.filter(({ actor, person }) => actor === undefined || person === undefined);
}

describe('a page of the audit log', () => {
  it(`reads at most ${MOST_BUFFERS} pages of memory, whatever its filters`, async (context) => {
    using explainer = new StatementExplainer(database, { options: 'analyze, buffers, format json' });
    const tokens = new PageTokens([randomBytes(32)]);
    const costs: { readonly filters: string; readonly rows: number; readonly buffers: number }[] = [];
    for (const filters of listFilters()) {
      let buffers = 0;
      const run = async <Rows>(statement: Statement<Rows>, parameters: object): Promise<Rows> => {
        const form = formOf(statement, 'whole') as Statement<unknown>;
        const { plans } = await explainer.explainStatement(form, parameters as never);
        buffers += countBuffers(plans[isPlannedAnew({ plans }) ? 'force_custom_plan' : 'force_generic_plan']);
        return recording.run(statement, parameters as never);
      };
      const { rows } = await listAuditEvents({ run, now: new Date() }, tokens, { ...filters, pageSize: PAGE_SIZE });
      costs.push({ filters: JSON.stringify(filters), rows: rows.length, buffers });
    }
    const most = costs.reduce((one, other) => (other.buffers > one.buffers ? other : one));
    report(context, {
      tried: `${costs.length} combinations of filters among ${EVENTS + 6_000} audit events`,
      figures: `at most ${most.buffers} pages of memory, for ${most.filters}`,
    });
    expect(costs.filter(({ buffers }) => !(buffers <= MOST_BUFFERS))).toEqual([]);
    expect(costs.filter(({ buffers }) => !(buffers <= MOST_OF_OTHERS)).length).toBeLessThanOrEqual(4);
    // The filters find what they are for.
    expect(costs.filter(({ rows }) => rows === PAGE_SIZE).length).toBeGreaterThan(20);
    expect(costs.filter(({ rows }) => rows === 0).length).toBeGreaterThan(200);
  });
});

describe('an event of the audit log', () => {
  /** The least write-ahead log of an insert: others begin a page, or write one whole. */
  async function walOf(actorType: string, action: string): Promise<number> {
    const bytes: number[] = [];
    for (let at = 0; at < 20; at++) {
      const [row] = await database.sql.unsafe(`
        explain (analyze, wal, format json) insert into audit_events
          (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
        values ('${BUSY}', now(), gen_random_uuid(), '${actorType}', '${KEY_OF_RARE}', '${action}', 'resource-${randomUUID()}',
          '203.0.113.7', '${randomUUID()}')`);
      bytes.push(row?.['QUERY PLAN'][0].Plan['WAL Bytes']);
    }
    return Math.min(...bytes);
  }

  it('of an API key writes at most twice the write-ahead log of a check-in, though filters find it', async () => {
    const checkIn = await walOf('api_key', 'EventService/CheckIn');
    expect(checkIn).toBeGreaterThan(200);
    const act = await walOf('api_key', 'EventService/DeleteEvent');
    expect(act / checkIn).toBeLessThan(2.2);
  });
});

/** Most events are of one operator in one application; few are of the key of another, and of neither action of the first. */
async function fill(): Promise<void> {
  await database.sql.unsafe(`
    insert into applications (id, name, client_id, redirect_uris, created_at)
      select id, 'Application', 'client_' || id, array['https://app.test/callback'], now() from unnest(array['${BUSY}', '${RARE}']::uuid[]) id;
    insert into api_keys (application_id, id, digest, created_at) values ('${RARE}', '${KEY_OF_RARE}', '\\x00', now());
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    select
      case when n % 1000 = 7 then '${RARE}'::uuid when n % 3 = 0 then '00000000-0000-0000-0000-000000000000'::uuid else '${BUSY}'::uuid end,
      now() - (${EVENTS} - n) * interval '100 milliseconds', md5('event' || n)::uuid,
      case when n % 1000 = 7 then 'api_key' else 'admin_key' end,
      case when n % 1000 = 7 then '${KEY_OF_RARE}' when n % 3 = 0 then 'night-shift' else 'deploy' end,
      case when n % 1000 = 7 then 'EventService/DeleteEvent' when n % 3 = 0 then 'AdminService/CreateUser' else 'AdminService/UpdateUser' end,
      case when n % 1000 = 7 then 'rare' when n % 3 = 0 and n <= ${OF_ANOTHER} then 'of another' when n <= ${OF_RESOURCE} then 'busy' else md5('resource' || n) end,
      '203.0.113.7', md5('request' || n)
    from generate_series(1, ${EVENTS}) n;
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    select
      case when n % 5 = 0 then '${RARE}'::uuid else '${BUSY}'::uuid end, now() - interval '1 hour' - n * interval '1 second', gen_random_uuid(),
      case when n % 3 = 0 then 'console' when n % 3 = 1 then 'login_page' else 'api_key' end,
      case when n % 3 = 0 then '${OPERATOR}' when n % 3 = 1 then '' else '${KEY_OF_RARE}' end,
      case when n % 3 = 0 then 'EventService/CheckIn' when n % 3 = 1 then 'POST /login/code' else 'SessionService/RenewSession' end,
      case when n % 3 = 0 then 'attendee ' || n else '${ADA}' end, '', md5('request' || n)
    from generate_series(1, 6000) n;
    analyze`);
}
