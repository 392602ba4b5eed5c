/** The check-ins of an event as CSV and as JSON lines, for the application of the event. */
import { describe, expect, it } from 'vitest';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { request } from '../../support/http.ts';
import { clientsOf, createTenant, createTestEvent } from '../../support/service.ts';

const { service, tenant } = await openContractFixture();
const { sql } = service.database;
const KEY = { 'x-api-key': tenant.apiKey };

const pathOf = (eventId: string, format: string) => `/api/events/${encodeURIComponent(eventId)}/check-ins.${format}`;
const get = (eventId: string, format: string, headers: Record<string, string> = KEY) =>
  fetch(service.url + pathOf(eventId, format), { headers });

/** Checks attendees in, a second after each other. */
async function addCheckIns(eventId: string, attendees: readonly string[], applicationId = tenant.id): Promise<void> {
  await sql`
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
    select ${applicationId}, ${eventId}, attendee, '2026-03-01T12:00:00Z'::timestamptz + n * interval '1 second'
    from unnest(${attendees}::text[]) with ordinality as a (attendee, n)`;
}

describe('the download of check-ins', () => {
  it('has every check-in once, in pages that nobody sees, as the list shows them', async () => {
    const eventId = await createTestEvent(service, tenant);
    const attendees = Array.from({ length: 250 }, (_, n) => `attendee ${n}`);
    await addCheckIns(eventId, attendees);
    const reply = await get(eventId, 'jsonl');
    expect(reply.headers.get('content-type')).toBe('application/jsonl');
    expect(reply.headers.get('content-disposition')).toBe('attachment; filename="check-ins.jsonl"');
    const lines = (await reply.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ attendeeId }) => attendeeId)).toEqual(attendees.toReversed());
    expect(lines[0]).toEqual({ attendeeId: 'attendee 249', checkedInAt: '2026-03-01T12:04:10.000Z' });
    const listed = await request(service.url, { path: `/api/events/${eventId}/check-ins?pageSize=1`, headers: KEY });
    expect(JSON.parse(listed.body).data.checkIns).toEqual([lines[0]]);
  });

  it('is CSV with a byte order mark that runs no formula', async () => {
    const eventId = await createTestEvent(service, tenant, 'Fest ☀️.csv');
    await addCheckIns(eventId, ['=1+1', '+1', '-1', '@sum(a1)', 'Zoë', 'a"b,c']);
    const reply = await get(eventId, 'csv');
    expect(reply.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const bytes = Buffer.from(await reply.arrayBuffer());
    expect(bytes.subarray(0, 3).toString('hex')).toBe('efbbbf');
    expect(bytes.subarray(3).toString().split('\r\n')).toEqual([
      '"attendeeId","checkedInAt"',
      '"a""b,c","2026-03-01T12:00:06.000Z"',
      '"Zoë","2026-03-01T12:00:05.000Z"',
      '"\'@sum(a1)","2026-03-01T12:00:04.000Z"',
      '"\'-1","2026-03-01T12:00:03.000Z"',
      '"\'+1","2026-03-01T12:00:02.000Z"',
      '"\'=1+1","2026-03-01T12:00:01.000Z"',
      '',
    ]);
  });

  it('is empty for an event to which nobody has come', async () => {
    const eventId = await createTestEvent(service, tenant);
    expect(await (await get(eventId, 'jsonl')).text()).toBe('');
    expect((await get(eventId, 'csv')).status).toBe(200);
  });

  it('finds no event of another application, no deleted and no unknown one', async () => {
    const other = await createTenant(service);
    const eventId = await createTestEvent(service, other);
    await addCheckIns(eventId, ['secret'], other.id);
    const deleted = await createTestEvent(service, tenant);
    await addCheckIns(deleted, ['gone']);
    await clientsOf(service, tenant).events.deleteEvent({ eventId: deleted });
    for (const format of ['csv', 'jsonl'])
      for (const id of [eventId, deleted, 'unknown']) {
        const reply = await get(id, format);
        expect(reply.status).toBe(404);
        expect(await reply.json()).toEqual({ status: false, message: 'Event not found', reason: 'EVENT_NOT_FOUND' });
      }
    expect(await (await get(eventId, 'jsonl', { 'x-api-key': other.apiKey })).text()).toContain('secret');
  });

  it('keeps the check-ins of an event with the same ID in another application apart', async () => {
    const other = await createTenant(service);
    for (const each of [tenant, other]) {
      await createTestEvent(service, each, 'shared');
      await addCheckIns('shared', [each.id], each.id);
    }
    for (const each of [tenant, other]) {
      const text = await (await get('shared', 'jsonl', { 'x-api-key': each.apiKey })).text();
      expect(
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).attendeeId),
      ).toEqual([each.id]);
    }
  });

  it.each([
    ['no key', {}],
    ['a wrong key', { 'x-api-key': 'usk_wrong' }],
  ])('is refused to %s', async (_, headers) => {
    const eventId = await createTestEvent(service, tenant);
    for (const format of ['csv', 'jsonl']) expect((await get(eventId, format, headers)).status).toBe(401);
  });

  it('refuses malformed IDs, parameters, other methods and other formats', async () => {
    const eventId = await createTestEvent(service, tenant);
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
    expect(await send(pathOf(eventId, 'csv'), 'HEAD')).toMatchObject({ status: 200, body: '' });
    expect((await send(pathOf(eventId, 'xlsx'))).status).toBe(404);
  });

  it('serves two at a time to an application, and others meanwhile, and stops reading when the client does', async () => {
    const eventId = await createTestEvent(service, tenant);
    await addCheckIns(
      eventId,
      Array.from({ length: 40_000 }, (_, n) => `${n}`.padStart(200, 'x')),
    );
    const open = [await get(eventId, 'jsonl'), await get(eventId, 'csv')];
    const refused = await get(eventId, 'jsonl');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    const other = await createTenant(service);
    const otherEvent = await createTestEvent(service, other);
    expect((await get(otherEvent, 'jsonl', { 'x-api-key': other.apiKey })).status).toBe(200);
    for (const reply of open) await reply.body?.cancel();
    const small = await createTestEvent(service, tenant);
    await expect.poll(async () => (await get(small, 'jsonl')).status).toBe(200);
  });
});
