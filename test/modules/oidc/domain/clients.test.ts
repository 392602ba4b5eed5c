/** Strangers can name clients, so guesses must cost little. */
import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { Database, type Run } from '../../../../src/database/pool/database.ts';
import { isOriginOf, OidcClients, PublicClients } from '../../../../src/modules/oidc/clients/oidc-clients.ts';
import { Resources } from '../../../../src/modules/oidc/clients/resources.ts';
import { MachineKeys } from '../../../../src/modules/oidc/domain/machines/machine-keys.ts';
import { stopTimer } from '../../../support/clock.ts';
import { countStatements } from '../../../support/count-statements.ts';
import { LAYOUT } from '../../../support/database.ts';
import { createOidcTenant } from '../../../support/oidc-client.ts';
import { adminClient, startTestService } from '../../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const tenant = await createOidcTenant(service, { publicClient: true });

/** As long as a URI may be. */
const RESOURCE = 'https://mcp.app.test/'.padEnd(2_048, 'a');
await adminClient(service).updateApplication({ applicationId: tenant.id, resourceUri: RESOURCE });
const { id: applicationId } = await createOidcTenant(service, { publicClient: true });
await adminClient(service).updateApplication({ applicationId, resourceUri: 'https://other.app.test/' });

const TEXTS = ['', 'client_', '\0', tenant.clientId.toUpperCase(), `${tenant.clientId}0`];

test.each<[string, { new (run: Run): OidcClients | PublicClients | Resources }, string, readonly string[]]>([
  ['clients of the authorization endpoint', OidcClients, tenant.clientId, TEXTS],
  ['clients without a secret', PublicClients, tenant.clientId, TEXTS],
  ['resources', Resources, RESOURCE, ['', '//', 'https://mcp.app.test/\0', `${RESOURCE}a`]],
])(
  '500 guessed %s share few statements with one that is known, and other texts cost none',
  async (_, Finder, known, texts) => {
    const { run, count, countRows } = countStatements(database);
    const finder = new Finder(run);
    const find = (text: string) => (finder instanceof Resources ? finder.findByUri(text) : finder.find(text));
    expect(await Promise.all(texts.map(find))).toEqual(texts.map(() => undefined));
    expect(count()).toBe(0);
    const guesses = Array.from({ length: 500 }, () => known.slice(0, 7) + randomBytes(16).toString('hex'));
    const startedAt = performance.now();
    const found = await Promise.all([...guesses, known].map(find));
    expect(found.map((client) => client?.id).filter(Boolean)).toEqual([tenant.id]);
    // One every 5 ms, however long that takes.
    expect(count()).toBeLessThanOrEqual((performance.now() - startedAt) / 5 + 2);
    expect(count()).toBeLessThan(guesses.length);
    expect(countRows()).toBe(1);
  },
);

type Finder = (run: Run, application: { id: string; clientId: string; uri: string }) => Promise<object | undefined>;
const client: Finder = (run, { clientId }) => new OidcClients(run).find(clientId);
const publicClient: Finder = (run, { clientId }) => new PublicClients(run).find(clientId);
const byUri: Finder = (run, { uri }) => new Resources(run).findByUri(`${uri}/`);
const byId: Finder = (run, { id }) => new Resources(run).findById(id);

test.each<[string, Finder, object, boolean]>([
  ['client', client, { public_client: false, resource_uri: null }, true],
  ['client without OpenID Connect', client, { open_id_connect: false }, false],
  ['client that is deleted', client, { deleted_at: new Date() }, false],
  ['client without a secret', publicClient, { open_id_connect: false, resource_uri: null }, true],
  ['client with a secret, without it', publicClient, { public_client: false }, false],
  ['client without a secret that is deleted', publicClient, { deleted_at: new Date() }, false],
  ['resource', byUri, { public_client: false }, true],
  ['resource without OpenID Connect', byUri, { open_id_connect: false }, false],
  ['resource that is deleted', byUri, { deleted_at: new Date() }, false],
  ['resource by its ID', byId, { public_client: false }, true],
  ['resource by its ID without OpenID Connect', byId, { open_id_connect: false }, false],
  ['resource by its ID that is deleted', byId, { deleted_at: new Date() }, false],
  ['resource by its ID that is none', byId, { resource_uri: null }, false],
])('whether a %s is found', async (_, find, columns, isFound) => {
  const { id, clientId } = await createOidcTenant(service, { publicClient: true });
  const uri = `https://${clientId}.app.test`;
  const { sql } = service.database;
  await sql`update applications set ${sql({ resource_uri: uri, ...columns } as never)} where id = ${id}`;
  const { run, countRows } = countStatements(database);
  const found = await find(run, { id, clientId, uri });
  expect(countRows()).toBe(Number(isFound));
  expect(found).toEqual(isFound ? expect.objectContaining({ id }) : undefined);
});

test.each([
  ['https://app.test', ['app:/callback', 'https://app.test/callback'], true],
  ['https://app.test:8443', ['https://app.test/callback'], false],
  ['http://localhost:5173', ['http://localhost/callback'], true],
  ['http://localhost:5173', ['http://127.0.0.1/callback', 'https://app.test/callback'], false],
  ['null', ['app:/callback'], false],
  [undefined, ['app:/callback', 'http://localhost/callback'], false],
])('a page of the origin %s is one of a client at %j: %s', (origin, redirectUris, isOwn) => {
  expect(isOriginOf(origin, redirectUris)).toBe(isOwn);
});

test('the key of a machine is read alone, and again once the cache is empty', async () => {
  const [machine, api] = [await createOidcTenant(service), await createOidcTenant(service)];
  const admin = adminClient(service);
  const createKey = () => admin.createApiKey({ applicationId: machine.id, use: 'CLIENT_SECRET' });
  const [{ apiKeyId }] = [await createKey(), await createKey()];
  const resource = { resourceUri: `https://${api.clientId}.app.test`, machineClientIds: [machine.clientId] };
  await admin.updateApplication({ applicationId: api.id, ...resource });
  const { run, countRows } = countStatements(database);
  const keys = new MachineKeys(run);
  const find = () => keys.find(api.id, apiKeyId);
  expect(await find()).toMatchObject({ applicationId: machine.id });
  await admin.revokeApiKey({ apiKeyId });
  expect(await find()).toBeDefined();
  keys.clear();
  expect(await find()).toBeUndefined();
  expect(countRows()).toBe(1);
});

test('a client that keeps a secret from now on works without it for less than 4 seconds', async () => {
  using timer = stopTimer();
  let isPublic = true;
  const run = async () => (isPublic ? [{ id: tenant.id, clientId: tenant.clientId }] : []);
  const clients = new PublicClients(run as unknown as Run);
  const find = () => clients.find(tenant.clientId);
  expect(await find()).toBeDefined();
  isPublic = false;
  timer.advance(4_000);
  expect(await find()).toBeUndefined();
});

test('a client without a secret is read again once the cache is empty', async () => {
  const rows = [{ id: tenant.id, clientId: tenant.clientId }];
  const clients = new PublicClients((async () => rows) as unknown as Run);
  expect(await clients.find(tenant.clientId)).toBeDefined();
  rows.length = 0;
  expect(await clients.find(tenant.clientId)).toBeDefined();
  clients.clear();
  expect(await clients.find(tenant.clientId)).toBeUndefined();
});
