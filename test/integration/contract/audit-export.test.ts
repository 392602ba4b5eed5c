/** The audit log as CSV and as JSON lines. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { request } from '../../support/http.ts';
import { adminClient, createTenant } from '../../support/service.ts';

const keyOf = (right: string) => `a-key-with-the-right-${right}-of-sufficient-length`;
const { service } = await openContractFixture({
  config: {
    adminKeys: (['read', 'support'] as const).map((right) => ({ name: right, key: keyOf(right), rights: [right] })),
  },
});
const { sql } = service.database;
const AS_READER = { 'x-admin-key': keyOf('read') };

const get = (file: string, query: Record<string, string> = {}, headers: Record<string, string> = AS_READER) =>
  fetch(`${service.url}/admin/audit-events.${file}?${new URLSearchParams(query)}`, { headers });

async function addEvents(applicationId: string, resources: readonly string[]): Promise<void> {
  await sql`
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    select ${applicationId}, '2026-03-01T12:00:00Z'::timestamptz + n * interval '1 second', gen_random_uuid(), 'api_key',
      'key', 'EventService/CreateEvent', resource, '::1', 'request'
    from unnest(${resources}::text[]) with ordinality as r (resource, n)`;
}

describe('the export of the audit log', () => {
  it('has every event once, in pages that nobody sees, as the list shows them', async () => {
    const { id: applicationId } = await createTenant(service);
    await addEvents(
      applicationId,
      Array.from({ length: 250 }, (_, n) => `event ${n}`),
    );
    const reply = await get('jsonl', { applicationId, actor: 'key' });
    expect(reply.headers.get('content-type')).toBe('application/jsonl');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    const events = (await reply.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ resource }) => resource)).toEqual(Array.from({ length: 250 }, (_, n) => `event ${249 - n}`));
    const { auditEvents } = await adminClient(service).listAuditEvents({ applicationId, actor: 'key', pageSize: 1 });
    expect(events[0]).toEqual({
      auditEventId: auditEvents[0]?.auditEventId,
      occurredAt: '2026-03-01T12:04:10.000Z',
      actorType: 'api_key',
      actor: 'key',
      action: 'EventService/CreateEvent',
      resource: 'event 249',
      applicationId,
      ipAddress: '::1',
      requestId: 'request',
    });
    const since = { applicationId, since: '2026-03-01T12:00:02Z', until: '2026-03-01T12:00:04Z' };
    expect((await (await get('jsonl', since)).text()).trimEnd().split('\n')).toHaveLength(2);
  });

  it('is CSV that runs no formula', async () => {
    const { id: applicationId } = await createTenant(service);
    const hostile = ['=1+1', '+1', '-1', '@sum(a1)', '\t=1', '＝1', 'x;=1', 'a"b,c\r\nd', `${randomUUID()}=`];
    await addEvents(applicationId, hostile);
    const reply = await get('csv', { applicationId, actor: 'key' });
    expect(reply.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(reply.headers.get('content-disposition')).toBe('attachment; filename="audit-events.csv"');
    const text = await reply.text();
    const header =
      '"auditEventId","occurredAt","actorType","actor","action","resource","applicationId","ipAddress","requestId","onBehalfBy"';
    expect(text.startsWith(`${header}\r\n"`)).toBe(true);
    expect(text).not.toMatch(/(^|,)"[=+\-@\t\r]/m);
    for (const start of [
      '"\'=1+1"',
      '"\'+1"',
      '"\'-1"',
      '"\'@sum(a1)"',
      '"\'\t=1"',
      '"\'＝1"',
      '"x;\'=1"',
      '"a""b,c\r\nd"',
    ]) {
      expect(text).toContain(start);
    }
  });

  it('has the same headers for HEAD as for GET, without a body', async () => {
    const { id: applicationId } = await createTenant(service);
    for (const [file, query, status] of [
      ['csv', { applicationId }, 200],
      ['jsonl', { applicationId }, 200],
      ['csv', { since: 'yesterday' }, 400],
    ] as const) {
      const path = `/admin/audit-events.${file}?${new URLSearchParams(query)}`;
      const head = await request(service.url, { method: 'HEAD', path, headers: AS_READER });
      const got = await request(service.url, { path, headers: AS_READER });
      expect(head, path).toMatchObject({ status, body: '' });
      expect(got, path).toMatchObject({ status, body: expect.stringMatching(/./) });
      // Node frames only a body that there is.
      const varying = { date: '', 'x-request-id': '', 'transfer-encoding': '' };
      expect({ ...head.headers, ...varying }, path).toEqual({ ...got.headers, ...varying });
    }
  });

  it.each([
    ['no key', {}, 401],
    ['a wrong key', { 'x-admin-key': 'wrong' }, 401],
    ['a key without the right', { 'x-admin-key': keyOf('support') }, 403],
  ])('is refused to %s', async (_, headers, status) => {
    for (const file of ['csv', 'jsonl']) expect((await get(file, {}, headers)).status).toBe(status);
  });

  it('refuses filters that are wrong, unknown or given twice, and other methods', async () => {
    for (const query of [
      'since=yesterday',
      'applicationId=x',
      'page=1',
      'actor=a&actor=b',
      'action=POST%20/login/code',
    ]) {
      const reply = await fetch(`${service.url}/admin/audit-events.csv?${query}`, { headers: AS_READER });
      expect(reply.status, query).toBe(400);
      expect(await reply.json(), query).toMatchObject({ reason: 'VALIDATION_FAILED' });
    }
    const posted = await fetch(`${service.url}/admin/audit-events.csv`, { method: 'POST', headers: AS_READER });
    expect(posted.status).toBe(405);
    expect(posted.headers.get('allow')).toBe('GET, HEAD');
  });

  it('serves two at a time, and stops reading when the client does', async () => {
    const { id: applicationId } = await createTenant(service);
    await addEvents(
      applicationId,
      Array.from({ length: 20_000 }, () => 'x'.repeat(200)),
    );
    const open = [await get('jsonl'), await get('jsonl')];
    expect((await get('jsonl')).status).toBe(503);
    for (const reply of open) await reply.body?.cancel();
    await expect
      .poll(
        async () => {
          const reply = await get('jsonl', { actor: 'nobody' });
          await reply.text();
          return reply.status;
        },
        { timeout: 30_000 },
      )
      .toBe(200);
  });
});
