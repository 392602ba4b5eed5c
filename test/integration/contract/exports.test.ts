/** The audit log, and the check-ins of an event, as CSV and as JSON lines. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { request } from '../../support/http.ts';
import { adminClient, clientsOf, createTenant, createTestEvent, type Tenant } from '../../support/service.ts';

const keyOf = (right: string) => `a-key-with-the-right-${right}-of-sufficient-length`;
const { service, tenant } = await openContractFixture({
  config: {
    adminKeys: (['read', 'support'] as const).map((right) => ({ name: right, key: keyOf(right), rights: [right] })),
  },
});
const { sql } = service.database;
const AS_READER = { 'x-admin-key': keyOf('read') };
const KEY = { 'x-api-key': tenant.apiKey };

type Headers = Readonly<Record<string, string>>;
type Format = 'csv' | 'jsonl';

const pathOf = (eventId: string, format: string) => `/api/events/${encodeURIComponent(eventId)}/check-ins.${format}`;
const getAudit = (format: Format, query: Record<string, string> = {}, headers: Headers = AS_READER) =>
  fetch(`${service.url}/admin/audit-events.${format}?${new URLSearchParams(query)}`, { headers });
const getCheckIns = (eventId: string, format: Format, headers: Headers = KEY) =>
  fetch(service.url + pathOf(eventId, format), { headers });

/** Adds events with these resources, a second after each other, and returns the ID of their application. */
async function addEvents(resources: readonly string[]): Promise<string> {
  const { id: applicationId } = await createTenant(service);
  await sql`
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    select ${applicationId}, '2026-03-01T12:00:00Z'::timestamptz + n * interval '1 second', gen_random_uuid(), 'api_key',
      'key', 'EventService/CreateEvent', resource, '::1', 'request'
    from unnest(${resources}::text[]) with ordinality as r (resource, n)`;
  return applicationId;
}

/** Checks attendees in, a second after each other, to a new event, and returns its ID. */
async function addCheckIns(
  attendees: readonly string[],
  of: Pick<Tenant, 'id' | 'apiKey'> = tenant,
  eventId: string = randomUUID(),
): Promise<string> {
  await createTestEvent(service, of, eventId);
  await sql`
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
    select ${of.id}, ${eventId}, attendee, '2026-03-01T12:00:00Z'::timestamptz + n * interval '1 second'
    from unnest(${attendees}::text[]) with ordinality as a (attendee, n)`;
  return eventId;
}

async function linesOf(reply: Response): Promise<Record<string, string>[]> {
  return (await reply.text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** Each with the path of one that has such rows. */
const EXPORTS: readonly {
  readonly name: string;
  readonly fill: (names: readonly string[]) => Promise<(format: Format, headers?: Headers) => Promise<Response>>;
  readonly column: string;
  readonly file: string;
  readonly refused: Readonly<Record<string, readonly [headers: Headers, status: number]>>;
}[] = [
  {
    name: 'the audit log',
    async fill(names) {
      const applicationId = await addEvents(names);
      return (format, headers) => getAudit(format, { applicationId, actor: 'key' }, headers);
    },
    column: 'resource',
    file: 'audit-events',
    refused: {
      'no key': [{}, 401],
      'a wrong key': [{ 'x-admin-key': 'wrong' }, 401],
      'a key without the right': [{ 'x-admin-key': keyOf('support') }, 403],
    },
  },
  {
    name: 'check-ins',
    async fill(names) {
      const eventId = await addCheckIns(names);
      return (format, headers) => getCheckIns(eventId, format, headers);
    },
    column: 'attendeeId',
    file: 'check-ins',
    refused: { 'no key': [{}, 401], 'a wrong key': [{ 'x-api-key': 'usk_wrong' }, 401] },
  },
];

describe.each(EXPORTS)('the export of $name', ({ fill, column, file, refused }) => {
  it('has every row once, the newest first, in pages that nobody sees', async () => {
    const names = Array.from({ length: 250 }, (_, n) => `row ${n}`);
    const reply = await (await fill(names))('jsonl');
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'content-type': 'application/jsonl',
      'content-disposition': `attachment; filename="${file}.jsonl"`,
      'cache-control': 'no-store',
    });
    expect((await linesOf(reply)).map((line) => line[column])).toEqual(names.toReversed());
  });

  it('is CSV that runs no formula', async () => {
    const reply = await (await fill(['=1+1', '+1', '-1', '@sum(a1)', 'x;=1', 'Zoë', 'a"b,c']))('csv');
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${file}.csv"`,
    });
    const text = await reply.text();
    expect(text).not.toMatch(/(^|,)"[=+\-@\t\r]/m);
    for (const cell of [`"'=1+1"`, `"'+1"`, `"'-1"`, `"'@sum(a1)"`, '"Zoë"', '"a""b,c"']) expect(text).toContain(cell);
  });

  it('has the same headers for HEAD as for GET, without a body', async () => {
    const get = await fill(['row']);
    for (const format of ['csv', 'jsonl'] as const) {
      const { url } = await get(format);
      const { pathname, search } = new URL(url);
      const sent = { path: pathname + search, headers: { ...AS_READER, ...KEY } };
      const head = await request(service.url, { method: 'HEAD', ...sent });
      const got = await request(service.url, sent);
      expect(head).toMatchObject({ status: 200, body: '' });
      expect(got).toMatchObject({ status: 200, body: expect.stringMatching(/./) });
      // Node frames only a body that there is.
      const varying = { date: '', 'x-request-id': '', 'transfer-encoding': '' };
      expect({ ...head.headers, ...varying }).toEqual({ ...got.headers, ...varying });
    }
  });

  it.each(Object.entries(refused))('is refused to %s', async (_, [headers, status]) => {
    const get = await fill(['row']);
    for (const format of ['csv', 'jsonl'] as const) expect((await get(format, headers)).status).toBe(status);
  });

  it('serves two at a time, and stops reading when the client does', async () => {
    const get = await fill(Array.from({ length: 40_000 }, (_, n) => `${n}`.padStart(200, 'x')));
    const open = [await get('jsonl'), await get('csv')];
    const busy = await get('jsonl');
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '1']);
    if (file === 'check-ins') {
      const other = await createTenant(service);
      const ofOther = await addCheckIns([], other);
      expect((await getCheckIns(ofOther, 'jsonl', { 'x-api-key': other.apiKey })).status).toBe(200);
    }
    for (const reply of open) await reply.body?.cancel();
    const getSmall = await fill(['row']);
    await expect
      .poll(async () => {
        const reply = await getSmall('jsonl');
        await reply.text();
        return reply.status;
      })
      .toBe(200);
  });
});

describe('the export of the audit log', () => {
  it('has its events as the list shows them, between two instants', async () => {
    const applicationId = await addEvents(['first', 'second', 'third', 'fourth']);
    const { auditEvents } = await adminClient(service).listAuditEvents({ applicationId, actor: 'key', pageSize: 1 });
    expect((await linesOf(await getAudit('jsonl', { applicationId, actor: 'key' })))[0]).toEqual({
      auditEventId: auditEvents[0]?.auditEventId,
      occurredAt: '2026-03-01T12:00:04.000Z',
      actorType: 'api_key',
      actor: 'key',
      action: 'EventService/CreateEvent',
      resource: 'fourth',
      applicationId,
      ipAddress: '::1',
      requestId: 'request',
    });
    const since = { applicationId, since: '2026-03-01T12:00:02Z', until: '2026-03-01T12:00:04Z' };
    expect(await linesOf(await getAudit('jsonl', since))).toHaveLength(2);
  });

  it('has its columns in CSV, and no formula behind a tab, a wide sign or a semicolon, also over several lines', async () => {
    const applicationId = await addEvents(['\t=1', '＝1', 'x;=1', 'a"b,c\r\nd', `${randomUUID()}=`]);
    const text = await (await getAudit('csv', { applicationId, actor: 'key' })).text();
    const header =
      '"auditEventId","occurredAt","actorType","actor","action","resource","applicationId","ipAddress","requestId","onBehalfBy","note"';
    expect(text.startsWith(`${header}\r\n"`)).toBe(true);
    for (const cell of [`"'\t=1"`, `"'＝1"`, `"x;'=1"`, '"a""b,c\r\nd"']) expect(text).toContain(cell);
  });

  it('has all sign-ins, however many other events are between', async () => {
    const applicationId = await addEvents(['first', ...Array<string>(1_200).fill('between'), 'last']);
    const action = 'POST /login/code';
    await sql`
      update audit_events set action = ${action}
      where application_id = ${applicationId} and resource in ('first', 'last')`;
    const lines = await linesOf(await getAudit('jsonl', { applicationId, action }));
    expect(lines.map(({ resource }) => resource)).toEqual(['last', 'first']);
  });

  it('refuses filters that are wrong, unknown or given twice, and other methods', async () => {
    const queries = ['since=yesterday', 'applicationId=x', 'page=1', 'actor=a&actor=b', `action=${'x'.repeat(256)}`];
    for (const query of queries) {
      const path = `/admin/audit-events.csv?${query}`;
      const reply = await request(service.url, { path, headers: AS_READER });
      expect([reply.status, JSON.parse(reply.body).reason], query).toEqual([400, 'VALIDATION_FAILED']);
      const head = await request(service.url, { method: 'HEAD', path, headers: AS_READER });
      expect(head, query).toMatchObject({ status: 400, body: '' });
    }
    const posted = await fetch(`${service.url}/admin/audit-events.csv`, { method: 'POST', headers: AS_READER });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the export of check-ins', () => {
  it('has them as the list shows them, in CSV behind a byte order mark', async () => {
    const eventId = await addCheckIns(['ada', 'grace'], tenant, 'Fest ☀️.csv');
    const lines = await linesOf(await getCheckIns(eventId, 'jsonl'));
    const grace = { attendeeId: 'grace', checkedInAt: '2026-03-01T12:00:02.000Z' };
    expect(lines[0]).toEqual({ ...grace, label: null, gate: null, occurredAt: null, reason: null });
    const path = `/api/events/${encodeURIComponent(eventId)}/check-ins?pageSize=1`;
    const listed = await request(service.url, { path, headers: KEY });
    expect(JSON.parse(listed.body).data.checkIns).toEqual([grace]);
    const bytes = Buffer.from(await (await getCheckIns(eventId, 'csv')).arrayBuffer());
    expect(bytes.subarray(0, 3).toString('hex')).toBe('efbbbf');
    expect(bytes.subarray(3).toString().split('\r\n')).toEqual([
      '"attendeeId","checkedInAt","label","gate","occurredAt","reason"',
      '"grace","2026-03-01T12:00:02.000Z","","","",""',
      '"ada","2026-03-01T12:00:01.000Z","","","",""',
      '',
    ]);
  });

  it('has the names of attendees, gates, and why somebody who was let in would have been refused', async () => {
    const { events } = clientsOf(service, tenant);
    const eventId = randomUUID();
    await events.createEvent({ eventId, admission: 'LISTED' });
    await events.batchPutAttendees({ eventId, attendees: [{ attendeeId: 'eve', label: 'Eve', isBlocked: true }] });
    const scan = { scanId: randomUUID(), attendeeId: 'eve', gate: 'North', alreadyAdmitted: true };
    await events.batchCheckIn({ eventId, scans: [scan, { ...scan, scanId: randomUUID(), attendeeId: 'ida' }] });
    const lines = await linesOf(await getCheckIns(eventId, 'jsonl'));
    expect(lines).toHaveLength(2);
    const of = (attendeeId: string) => lines.find((line) => line.attendeeId === attendeeId);
    expect(of('eve')).toMatchObject({ label: 'Eve', gate: 'North', reason: 'ATTENDEE_BLOCKED' });
    expect(of('ida')).toMatchObject({ label: null, gate: 'North', reason: 'ATTENDEE_NOT_LISTED' });
  });

  it('is empty for an event to which nobody has come', async () => {
    const eventId = await addCheckIns([]);
    expect(await (await getCheckIns(eventId, 'jsonl')).text()).toBe('');
    expect((await getCheckIns(eventId, 'csv')).status).toBe(200);
  });

  it('finds no event of another application, no deleted and no unknown one', async () => {
    const other = await createTenant(service);
    const eventId = await addCheckIns(['secret'], other);
    const deleted = await addCheckIns(['gone']);
    await clientsOf(service, tenant).events.deleteEvent({ eventId: deleted });
    for (const format of ['csv', 'jsonl'] as const)
      for (const id of [eventId, deleted, 'unknown']) {
        const reply = await getCheckIns(id, format);
        expect(reply.status).toBe(404);
        expect(await reply.json()).toEqual({ status: false, message: 'Event not found', reason: 'EVENT_NOT_FOUND' });
      }
    expect(await (await getCheckIns(eventId, 'jsonl', { 'x-api-key': other.apiKey })).text()).toContain('secret');
  });

  it('keeps the check-ins of an event with the same ID in another application apart', async () => {
    const both = [tenant, await createTenant(service)];
    for (const each of both) await addCheckIns([each.id], each, 'shared');
    for (const each of both) {
      const lines = await linesOf(await getCheckIns('shared', 'jsonl', { 'x-api-key': each.apiKey }));
      expect(lines.map(({ attendeeId }) => attendeeId)).toEqual([each.id]);
    }
  });

  it('refuses malformed IDs, parameters, other methods and other formats', async () => {
    const eventId = await addCheckIns([]);
    const send = (path: string, method = 'GET') => request(service.url, { method, path, headers: KEY });
    expect(JSON.parse((await send('/api/events/%ff/check-ins.csv')).body)).toMatchObject({
      reason: 'VALIDATION_FAILED',
      errors: [{ field: 'eventId' }],
    });
    expect(JSON.parse((await send(`${pathOf(eventId, 'csv')}?pageSize=1`)).body)).toMatchObject({
      reason: 'VALIDATION_FAILED',
      errors: [{ field: 'pageSize', message: 'is unknown' }],
    });
    expect(await send(pathOf(eventId, 'csv'), 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    expect((await send(pathOf(eventId, 'xlsx'))).status).toBe(404);
  });
});
