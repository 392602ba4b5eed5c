/** The audit log in words: who did what on what, by name. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { listAuditEvents } from '../../../../src/domain/audit/list-audit-events.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { ACTIONS } from '../../../../src/login-page/actions.ts';
import { createPartActions } from '../../../../src/login-page/offer/page-offer.ts';
import { ACTION_TEXTS } from '../../../../src/modules/console/parts/action-texts.ts';
import { renderAuditList } from '../../../../src/modules/console/parts/audit-list.ts';
import { readNames } from '../../../../src/modules/console/parts/names.ts';
import { collectOffers } from '../../../../src/modules/open-modules.ts';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { openSampledConsole } from '../../../support/console-samples.ts';
import { countStatements } from '../../../support/count-statements.ts';
import { textOf } from '../../../support/login-browser.ts';
import { OPERATIONS } from '../../../support/operations.ts';
import { adminClient, createTestUser, testConfig } from '../../../support/service.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.viewer);
const { sql, url } = fixture.service.database;
const { a, k, u, w } = samples.params;

afterAll(() => fixture.close());

interface Given {
  readonly actorType: string;
  readonly actor?: string;
  readonly action: string;
  readonly resource: string;
  readonly at: string;
}

/** Stores an event at an instant that no other event of this file has. */
async function insert({ actorType, actor = '', action, resource, at }: Given): Promise<void> {
  await sql`
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    values (${a}, ${at}, gen_random_uuid(), ${actorType}, ${actor}, ${action}, ${resource}, '203.0.113.7', 'request-1')`;
}

/** Returns the rows between two days: the text that is seen, and the text behind it. */
async function read(since: string, until: string) {
  const { body } = await browser.open(
    `/audit?${new URLSearchParams({ since: `${since}T00:00`, until: `${until}T00:00` })}`,
  );
  const rows = [...body.matchAll(/<summary>(<time.*?)<\/summary>(.*?)<\/details>/gs)].map((match) =>
    match.slice(1).map((part) => textOf(part).replace(/\s+/g, ' ').trim()),
  );
  return { rows, days: [...body.matchAll(/<h2><time.*?>(.*?)<\/time>/g)].map(([, day]) => day) };
}

test('a row names people, keys, applications and webhooks, and has their IDs behind it', async () => {
  const at = (minute: number) => `2026-02-03T10:0${minute}:00Z`;
  await insert({ actorType: 'login_page', action: 'POST /login/code', resource: u, at: at(4) });
  await insert({ actorType: 'api_key', actor: k, action: 'WebhookService/UpdateWebhook', resource: w, at: at(3) });
  await insert({ actorType: 'console', actor: u, action: 'AdminService/UpdateApplication', resource: a, at: at(2) });
  await insert({
    actorType: 'api_key',
    actor: fixture.tenant.apiKeyId,
    action: 'EventService/CheckIn',
    resource: 'door/zoe',
    at: at(1),
  });
  await insert({ actorType: 'usher', action: 'FutureService/PaintWall', resource: 'wall', at: at(0) });
  const { rows } = await read('2026-02-03', '2026-02-04');
  expect(rows.map(([seen]) => seen)).toEqual([
    '10:04:00Ada Lovelace Signed in by code Shop',
    `10:03:00Key ${samples.keyName} Changed a webhook ${samples.webhookUrl} Shop`,
    '10:02:00Ada Lovelace Changed an application Shop',
    // A key without a name is known by its application.
    `10:01:00Key Shop ${fixture.clock.read().toISOString().slice(0, 10)} Checked somebody in door/zoe Shop`,
    '10:00:00Usher Paint wall wall Shop',
  ]);
  const behind = rows.map(([, text]) => text);
  expect(behind[0]).toContain(`${u} Copy`);
  expect(behind[1]).toContain(k);
  expect(behind[1]).toContain(`WebhookService/UpdateWebhook · Every one of these`);
  expect(behind[1]).toContain(w);
  expect(behind[2]).toContain(samples.email);
  for (const text of behind) {
    expect(text).toContain(a);
    expect(text).toContain('203.0.113.7');
    expect(text).toContain('request-1');
  }
});

test('what has no name has its ID, shortened', async () => {
  const gone = randomUUID();
  await insert({
    actorType: 'console',
    actor: gone,
    action: 'AdminService/DeleteUser',
    resource: gone,
    at: '2026-02-05T10:00:00Z',
  });
  await insert({
    actorType: 'login_page',
    action: 'POST /login/passkey/new',
    resource: gone,
    at: '2026-02-05T09:00:00Z',
  });
  const { rows } = await read('2026-02-05', '2026-02-06');
  const short = `${gone.slice(0, 8)}…${gone.slice(-4)}`;
  expect(rows.map(([seen]) => seen)).toEqual([
    `10:00:00${short} Deleted a user Shop`,
    `09:00:00Somebody Added a passkey ${short} Shop`,
  ]);
});

test('names are those of the IDs that are asked for, and no others', async () => {
  const database = new Database(url, { connections: 1, statementTimeoutMs: 60_000 });
  onTestFinished(() => database.close());
  const { run } = countStatements(database);
  const { g } = samples.params;
  const read = async (ids: Parameters<typeof readNames>[1]) => [...(await readNames({ run }, ids))];
  expect(await read({})).toEqual([]);
  expect(await read({ user: [u] })).toEqual([[u, { name: 'Ada Lovelace', detail: samples.email }]]);
  expect(await read({ key: [k] })).toEqual([[k, { name: samples.keyName, detail: a }]]);
  expect(await read({ group: [g] })).toEqual([[g, { name: 'Editors', detail: '' }]]);
  expect(await read({ application: [a] })).toEqual([[a, { name: 'Shop', detail: '' }]]);
  const unnamed = await createTestUser(fixture.service);
  expect(await read({ user: [unnamed.id] })).toEqual([[unnamed.id, { name: unnamed.email, detail: unnamed.email }]]);
  const { group } = await adminClient(fixture.service).createGroup({ name: 'plain' });
  const groupId = group?.groupId ?? '';
  expect(await read({ group: [groupId] })).toEqual([[groupId, { name: 'plain', detail: '' }]]);
  const { apiKeyId } = await adminClient(fixture.service).createApiKey({ applicationId: a });
  await sql`update api_keys set name = null where id = ${apiKeyId}`;
  expect(await read({ key: [apiKeyId] })).toEqual([[apiKeyId, { name: '', detail: a }]]);
  expect(await read({ webhook: [w] })).toEqual([]);
  const webhook = [w, { name: samples.webhookUrl, detail: a }];
  expect(await read({ webhook: [w], application: [a] })).toContainEqual(webhook);
  expect(await read({ webhook: ['wh_other'], application: [a] })).not.toContainEqual(webhook);
});

test('every day has a heading, in UTC', async () => {
  await insert({ actorType: 'usher', action: 'demo', resource: a, at: '2026-02-09T23:59:59Z' });
  await insert({ actorType: 'usher', action: 'demo', resource: a, at: '2026-02-10T00:00:00Z' });
  expect((await read('2026-02-09', '2026-02-11')).days).toEqual([
    'Tuesday, 10 February 2026',
    'Monday, 9 February 2026',
  ]);
});

test('a page reads all names by one statement, and none for no event', async () => {
  const database = new Database(url, { connections: 1, statementTimeoutMs: 60_000 });
  onTestFinished(() => database.close());
  const { run, count } = countStatements(database);
  const call = { run, now: fixture.clock.read() };
  const { rows } = await listAuditEvents(call, new PageTokens([Buffer.alloc(32)]), {});
  expect(rows.length).toBeGreaterThan(10);
  expect(count()).toBe(1);
  await renderAuditList({ call }, [], { level: 2, empty: '' });
  expect(count()).toBe(1);
  await renderAuditList({ call }, rows, { level: 2, empty: '' });
  expect(count()).toBe(2);
});

test('every RPC that changes something is in plain words', () => {
  const changes = OPERATIONS.map(({ method }) => method)
    .filter(({ name }) => !/^(Get|List|BatchGet|Introspect|Check(?!In))/.test(name))
    .map(({ name, parent }) => `${parent.name}/${name}`);
  expect(changes.length).toBeGreaterThan(30);
  expect(changes.filter((action) => !ACTION_TEXTS.has(action))).toEqual([]);
});

test('every action of the login page that has words exists', () => {
  const publicUrl = 'https://login.example.com';
  const secrets = { encryptionKeys: [Buffer.alloc(32)], oidcSigningKeys: [] };
  const offers = collectOffers(testConfig(''), { authPageUrl: `${publicUrl}/login`, publicUrl, secrets });
  const actions = createPartActions([...offers.values()].flatMap(({ pages }) => pages ?? []));
  const served = new Set([...ACTIONS, ...actions].map(({ method, path }) => `${method} ${path}`));
  const worded = [...ACTION_TEXTS.keys()].filter((action) => /^\w+ \/(login|account)/.test(action));
  expect(worded.filter((action) => !served.has(action))).toEqual([]);
});

test('the filter offers every action, and keeps one without words', async () => {
  const { body } = await browser.open('/audit?action=FutureService%2FPaintWall');
  const offered = [...body.matchAll(/<option value="([^"]*)"/g)].map(([, value]) => textOf(value));
  expect(offered).toEqual(expect.arrayContaining(['AdminService/UpdateUser', 'POST /login/code']));
  expect(body).toContain('<option value="FutureService/PaintWall" selected>');
  for (const query of ['', '?action=AdminService%2FUpdateUser']) {
    const [first, ...others] = [
      ...(await browser.open(`/audit${query}`)).body.matchAll(/<option value="([^"]*)"[^>]*>([^<]*)/g),
    ];
    expect(first?.slice(1)).toEqual(['', 'Anything']);
    expect(others.map(([, , text]) => text)).toEqual(
      others.map(([, , text = '']) => text).sort((one, other) => one.localeCompare(other, 'en')),
    );
    expect(new Set(others.map(([, value]) => value)).size).toBe(others.length);
  }
});
