/** Strangers can name clients, so guesses must cost little. */
import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { Database, type Run } from '../../../../src/database/pool/database.ts';
import { OidcClients, PublicClients } from '../../../../src/modules/oidc/clients/oidc-clients.ts';
import { stopTimer } from '../../../support/clock.ts';
import { countStatements } from '../../../support/count-statements.ts';
import { LAYOUT } from '../../../support/database.ts';
import { createOidcTenant } from '../../../support/oidc-client.ts';
import { startTestService } from '../../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const tenant = await createOidcTenant(service, { publicClient: true });

test.each([
  ['of the authorization endpoint', OidcClients],
  ['without a secret', PublicClients],
])(
  '500 guessed clients %s share few statements with one that is known, and other texts cost none',
  async (_, Clients) => {
    const { run, count } = countStatements(database);
    const clients = new Clients(run);
    const find = (clientId: string) => clients.find(clientId);
    const texts = ['', 'client_', '\0', tenant.clientId.toUpperCase(), `${tenant.clientId}0`];
    expect(await Promise.all(texts.map(find))).toEqual(texts.map(() => undefined));
    expect(count()).toBe(0);
    const guesses = Array.from({ length: 500 }, () => `client_${randomBytes(16).toString('hex')}`);
    const startedAt = performance.now();
    const found = await Promise.all([...guesses, tenant.clientId].map(find));
    expect(found.map((client) => client?.id).filter(Boolean)).toEqual([tenant.id]);
    // One every 5 ms, however long that takes.
    expect(count()).toBeLessThanOrEqual((performance.now() - startedAt) / 5 + 2);
    expect(count()).toBeLessThan(guesses.length);
  },
);

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
