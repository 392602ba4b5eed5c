/** What holds for every list. */
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { openContractFixture, UNKNOWN_ID } from '../../contract/contract-fixture.ts';
import { validationFailed } from '../../support/answers.ts';
import { TestClock } from '../../support/clock.ts';
import { LAYOUT } from '../../support/database.ts';
import { LIST_OPERATIONS, listOf } from '../../support/lists.ts';
import { call, mainProtocolOf } from '../../support/protocols.ts';
import { credentialFor, exampleOf } from '../../support/samples.ts';
import { createTenant, createTestUser, type Tenant } from '../../support/service.ts';
import { readsOf, StatementExplainer } from '../../support/statement-explainer.ts';

interface ListPage {
  readonly keys: readonly string[];
  readonly nextPageToken: string;
}

const clock = new TestClock(new Date('2026-03-01T12:00:00.120Z'));
const { service, other } = await openContractFixture({ clock: clock.read });
const lists = LIST_OPERATIONS.map((operation) => ({ ...operation, name: operation.method.name }));

describe.each(lists)('$name', (operation) => {
  const index = lists.indexOf(operation);
  const { method } = operation;
  const list = listOf(method);

  /** Opens the list of a new application. */
  async function open(tenant?: Tenant) {
    const owner = tenant ?? (await createTenant(service));
    const { fields, add } = await list.open({ service, tenant: owner });
    const read = (more: JsonObject, as = owner, protocol = mainProtocolOf(method)) =>
      call(protocol, service.url, method, { ...fields, ...more }, credentialFor(operation, as));
    return {
      owner,
      read,
      /** Adds items, two of them in each millisecond. Returns their keys, the oldest first. */
      async addMany(count: number): Promise<string[]> {
        const keys: string[] = [];
        for (let at = 0; at < count; at++) {
          if (at % 2 === 0) clock.advance(1);
          keys.push(await add());
        }
        return keys;
      },
      async readPage(more: JsonObject = {}, protocol = mainProtocolOf(method)): Promise<ListPage> {
        const { code, data } = await read(more, owner, protocol);
        expect(code).toBe('ok');
        const { [list.items]: items, nextPageToken } = data as { [items: string]: unknown } & { nextPageToken: string };
        return { keys: (items as JsonObject[]).map((item) => String(item[list.key])), nextPageToken };
      },
    };
  }

  it('returns every item once, newest first, whatever is added between its pages', async () => {
    const { addMany, readPage } = await open();
    const added = await addMany(7);
    const all = (await readPage({ pageSize: 100 })).keys.filter((key) => added.includes(key));
    const instants = all.map((key) => Math.floor(added.indexOf(key) / 2));
    expect(instants).toEqual([3, 2, 2, 1, 1, 0, 0]);
    const read: string[] = [];
    let pageToken = '';
    do {
      const page = await readPage({ pageSize: 2, pageToken });
      expect(page.keys.length).toBeLessThanOrEqual(2);
      read.push(...page.keys);
      pageToken = page.nextPageToken;
      if (read.length < 5) await addMany(2);
    } while (pageToken && read.length < 100);
    expect(read.filter((key) => added.includes(key))).toEqual(all);
    expect(new Set(read).size).toBe(read.length);
  });

  it('says so when a page is the last, even if it is full', async () => {
    const { addMany, readPage } = await open();
    await addMany(2);
    const pages: ListPage[] = [];
    do pages.push(await readPage({ pageSize: 1, pageToken: pages.at(-1)?.nextPageToken ?? '' }));
    while (pages.at(-1)?.nextPageToken);
    expect(pages.map(({ keys }) => keys.length)).toEqual(pages.map(() => 1));
  });

  // One list stands for all, which read their pages by one function.
  if (method === EventService.method.listEvents) {
    it('has pages of 50 unless the caller wants 1 to 100', async () => {
      const { addMany, readPage } = await open();
      await addMany(101);
      expect((await readPage()).keys).toHaveLength(50);
      expect((await readPage({ pageToken: '' })).keys).toHaveLength(50);
      for (const pageSize of [1, 100]) expect((await readPage({ pageSize })).keys).toHaveLength(pageSize);
    });
  }

  it('returns Validation failed for a page token that is altered, of another list or of another application', async () => {
    const { addMany, readPage, read, owner } = await open();
    await addMany(2);
    const { nextPageToken: token } = await readPage({ pageSize: 1 });
    expect(token).toMatch(/^[\w-]+$/);
    const half = Math.floor(token.length / 2);
    const altered = `${token.slice(0, half)}${token[half] === 'A' ? 'B' : 'A'}${token.slice(half + 1)}`;
    for (const pageToken of [altered, `${token}A`, `${token}=`, token.slice(0, -1), 'x', '\n', 'a'.repeat(5_000)]) {
      expect(await read({ pageToken }), pageToken).toEqual(validationFailed('pageToken'));
    }
    const foreign = await open(other);
    if (operation.credential === 'apiKey') {
      expect(await foreign.read({ pageToken: token })).toEqual(validationFailed('pageToken'));
    }
    // Each list refuses the tokens of one other, and each token is refused by one.
    const another = lists[(index + 1) % lists.length] ?? operation;
    const { fields } = await listOf(another.method).open({ service, tenant: owner });
    const headers = credentialFor(another, owner);
    const request = { ...fields, pageToken: token };
    const answer = await call(mainProtocolOf(another.method), service.url, another.method, request, headers);
    expect(answer, another.name).toEqual(validationFailed('pageToken'));
  });

  const { required = {} } = exampleOf(method);
  const filters = method.input.fields
    .map(({ localName }) => localName)
    .filter((name) => name in FILTERS && !(name in required));

  if (filters.length > 0) {
    it('returns Validation failed for a page token of the list with another filter', async () => {
      const { addMany, readPage, read } = await open();
      await addMany(3);
      const { nextPageToken: pageToken } = await readPage({ pageSize: 1 });
      for (const name of filters) {
        const [filter, another] = (FILTERS[name] ?? []).map((value) => ({ [name]: value }));
        expect(await read({ ...filter, pageToken }), name).toEqual(validationFailed('pageToken'));
        const { nextPageToken: ofFiltered } = await readPage({ ...filter, pageSize: 1 });
        if (!ofFiltered) continue;
        expect(await read({ pageToken: ofFiltered }), name).toEqual(validationFailed('pageToken'));
        expect(await read({ ...another, pageToken: ofFiltered }), name).toEqual(validationFailed('pageToken'));
        expect(await read({ ...filter, pageToken: ofFiltered }), name).toMatchObject({ code: 'ok' });
      }
    });
  }

  if (Object.keys(required).length > 0) {
    it('returns Validation failed for a page token of another event, webhook or application of its owner', async () => {
      const { owner, addMany, readPage, read } = await open();
      const another = await open(owner);
      await addMany(2);
      const { nextPageToken: pageToken } = await readPage({ pageSize: 1 });
      expect(await another.read({})).toMatchObject({ code: 'ok' });
      expect(await another.read({ pageToken })).toEqual(validationFailed('pageToken'));
      expect(await read({ pageToken })).toMatchObject({ code: 'ok' });
    });
  }
});

/** Two values of every filter. The list has items with the first, where it can. */
const FILTERS: Readonly<Record<string, readonly [string, string]>> = {
  action: ['EventService/CreateEvent', 'EventService/DeleteEvent'],
  actor: ['admin', 'another'],
  applicationId: [UNKNOWN_ID, UNKNOWN_ID.replace('0', '1')],
  email: ['ada@example.com', 'bob@example.com'],
  emailPrefix: ['a', 'b'],
  resource: ['event', 'another'],
  since: ['2000-01-01T00:00:00Z', '2000-01-02T00:00:00Z'],
  status: ['pending', 'failed'],
  until: ['2100-01-01T00:00:00Z', '2100-01-02T00:00:00Z'],
  userId: [UNKNOWN_ID, UNKNOWN_ID.replace('0', '1')],
  walletAddress: ['0x0', '0x1'],
};

it.each(['ListSessions', 'ListGrants'])('%s passes some hundred that have ended a page', async (name) => {
  const operation = lists.find(({ method }) => method.name === name);
  if (!operation) throw new Error('There is no such list');
  const tenant = await createTenant(service);
  const { sql } = service.database;
  const live = await createTestUser(service);
  const now = clock.read();
  // All but the oldest three are of a user who cannot sign in.
  await sql.begin((transaction) =>
    transaction.unsafe(`
      create temporary table row on commit drop as
        select case when n <= 3 then '${live.id}'::uuid else md5('${tenant.id}' || n)::uuid end as user_id, gen_random_uuid() as id,
          '${now.toISOString()}'::timestamptz - interval '1 hour' + n * interval '1 millisecond' as at
        from generate_series(1, 1203) n;
      insert into users (id, email, wallet_address, created_at, deactivated_at)
        select user_id, user_id || '@example.com', '', at, at from row where user_id <> '${live.id}';
      insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent,
          authenticated_at, rotation, created_at, expires_at)
        select '${tenant.id}', id, user_id, id, 1, 'page', '::1', '', at, 0, at, at + interval '1 day' from row;
      insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
          authenticated_at, began_at, created_at, expires_at)
        select distinct on (user_id) '${tenant.id}'::uuid, user_id, id, '', '', '::1', '', 'page', at, at, at,
          at + interval '1 day' from row order by user_id, at`),
  );
  await sql`vacuum analyze`;
  // Citus tells what a server reads to nobody.
  using explainer =
    LAYOUT === 'whole' ? new StatementExplainer(service.database, { modes: ['force_custom_plan'] }) : undefined;
  const headers = credentialFor(operation, tenant);
  const pages: number[] = [];
  for (let pageToken = ''; pages.length === 0 || pageToken !== ''; ) {
    const { data } = await call(
      mainProtocolOf(operation.method),
      service.url,
      operation.method,
      { pageToken },
      headers,
    );
    const { [listOf(operation.method).items]: items, nextPageToken } = data as unknown as Record<string, unknown[]> & {
      nextPageToken: string;
    };
    pages.push(items?.length ?? 0);
    pageToken = nextPageToken;
  }
  expect(pages).toEqual([0, 0, name === 'ListGrants' ? 3 : 1]);
  if (!explainer) return;
  const reads = explainer.explained.flatMap(({ plans }) => readsOf(plans.force_custom_plan));
  const listed = reads.filter(({ table }) => ['sessions', 'oidc_grants'].includes(table));
  expect(listed.length).toBeGreaterThanOrEqual(2);
  expect(Math.max(...listed.map(({ rows }) => rows))).toBeLessThanOrEqual(500);
});
