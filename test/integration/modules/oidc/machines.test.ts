/** Tokens that a client gets of its own, without a user (RFC 6749, section 4.4), for a resource that lists it. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { afterAll, describe, expect, it } from 'vitest';
import { createMachineToken } from '../../../../src/modules/oidc/domain/machines/machine-token.ts';
import { sealBytes } from '../../../../src/modules/oidc/domain/tokens/sealed-bytes.ts';
import { deriveTokenKeys } from '../../../../src/modules/oidc/domain/tokens/token-keys.ts';
import { MINUTE, TestClock } from '../../../support/clock.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { basicOf, getUserinfo, post } from '../../../support/oidc-client.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  PUBLIC_URL,
  startTestService,
  type Tenant,
} from '../../../support/service.ts';

const clock = new TestClock(new Date('2026-03-01T12:00:00.250Z'));
const service = await startTestService({ clock: clock.read, oidcSigningKeys: [createRsaJwk()] });
afterAll(() => service.close());
const admin = adminClient(service);

const RESOURCE_URI = 'https://mcp.app.test/';
const SCOPES = ['orders:read', 'orders:write'].map((name) => ({ name, description: name }));
const machine = await createTenant(service, { openIdConnect: true });
const stranger = await createTenant(service, { openIdConnect: true });
const resource = await createTenant(service, {
  openIdConnect: true,
  resourceUri: RESOURCE_URI,
  resourceScopes: SCOPES,
  machineClientIds: [machine.clientId],
});

const ask = (fields: Record<string, string> = {}, of: Pick<Tenant, 'clientId' | 'apiKey'> = machine) =>
  post(service, '/oidc/token', { grant_type: 'client_credentials', resource: RESOURCE_URI, ...fields }, basicOf(of));
const introspect = (token: string | undefined, of: Tenant = resource) =>
  clientsOf(service, of).tokens.introspectToken({ token: token ?? '' });

async function errorOf(reply: ReturnType<typeof post>): Promise<string> {
  const { status, body } = await reply;
  return `${status} ${body.error}`;
}

/** Returns a client with a token for the resource, which lists it. */
async function createMachine() {
  const client = await createTenant(service, { openIdConnect: true });
  const of = await createTenant(service, {
    openIdConnect: true,
    resourceUri: `https://${client.clientId}.app.test/`,
    resourceScopes: SCOPES,
    machineClientIds: [machine.clientId, client.clientId],
  });
  const { body } = await ask({ resource: `https://${client.clientId}.app.test/` }, client);
  return { client, of, token: body.access_token ?? '' };
}

/** Returns a token that the client has got by a new key. */
async function tokenOfNewKey(): Promise<{ apiKeyId: string; token: string }> {
  const { apiKeyId, apiKey } = await admin.createApiKey({ applicationId: machine.id, use: 'CLIENT_SECRET' });
  const { body } = await ask({}, { ...machine, apiKey });
  return { apiKeyId, token: body.access_token ?? '' };
}

describe('a client that the resource lists', () => {
  it('gets a token for 15 minutes, with scopes of the resource, and no refresh token', async () => {
    const { status, body, headers } = await ask({ scope: 'orders:read openid orders:none' });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        access_token: expect.stringMatching(/^umt_[\w-]+$/),
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'orders:read',
      },
    });
    expect(headers['cache-control']).toBe('no-store');
    const { body: status2 } = await post(
      service,
      '/oidc/introspect',
      { token: body.access_token ?? '' },
      basicOf(resource),
    );
    expect(status2).toEqual({
      active: true,
      iss: PUBLIC_URL,
      aud: RESOURCE_URI,
      client_id: machine.clientId,
      sub: machine.clientId,
      scope: 'orders:read',
      token_type: 'Bearer',
      exp: Math.floor((clock.read().getTime() + 15 * MINUTE) / 1_000),
    });
    const { $typeName: _, ...typed } = await introspect(body.access_token);
    expect(typed).toMatchObject({ active: true, clientId: machine.clientId, sub: machine.clientId, aud: RESOURCE_URI });
    expect(typed.authTime).toBeUndefined();
  });

  it('names the resource with any number of slashes at the end, and gets all scopes without one', async () => {
    for (const uri of ['https://mcp.app.test', 'https://mcp.app.test//'])
      expect(await ask({ resource: uri })).toMatchObject({ status: 200, body: { scope: 'orders:read orders:write' } });
  });

  it('gets nothing for scopes that the resource does not have, and no scope where it has none', async () => {
    for (const scope of ['openid', 'mcp:tools', 'Orders:read', 'orders:read,orders:write'])
      expect([scope, await errorOf(ask({ scope }))]).toEqual([scope, '400 invalid_scope']);
    const uri = 'https://plain.app.test/';
    const plain = await createTenant(service, { openIdConnect: true });
    await admin.updateApplication({
      ...{ applicationId: plain.id, resourceUri: uri, machineClientIds: [machine.clientId] },
    });
    const { status, body } = await ask({ resource: uri });
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('scope');
    expect(await errorOf(ask({ resource: uri, scope: 'mcp:tools' }))).toBe('400 invalid_scope');
  });

  it('gets nothing for another resource, or for none', async () => {
    expect(await errorOf(ask({ resource: 'https://other.app.test/' }))).toBe('400 invalid_target');
    expect(await errorOf(ask({ resource: '' }))).toBe('400 invalid_target');
  });

  it('gets nothing without a secret', async () => {
    await admin.updateApplication({ applicationId: machine.id, publicClient: true });
    const fields = { grant_type: 'client_credentials', resource: RESOURCE_URI, client_id: machine.clientId };
    expect(await errorOf(post(service, '/oidc/token', fields))).toBe('400 unauthorized_client');
  });
});

it('another client gets nothing', async () => {
  expect(await errorOf(ask({}, stranger))).toBe('400 invalid_target');
  expect(await errorOf(ask({}, resource))).toBe('400 invalid_target');
});

describe('a token', () => {
  it('is known to the resource alone', async () => {
    const { body } = await ask();
    expect(await introspect(body.access_token)).toMatchObject({ active: true });
    for (const other of [machine, stranger])
      expect(await introspect(body.access_token, other)).toMatchObject({ active: false });
    expect(await getUserinfo(service, body.access_token)).toMatchObject({ status: 401 });
    const changed = `${body.access_token?.slice(0, -3)}AAA`;
    const { machineToken } = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);
    const ofOtherVersion = `umt_${sealBytes(machineToken, Buffer.alloc(100, 2))}`;
    for (const text of [changed, `uxt_${body.access_token?.slice(4)}`, ofOtherVersion])
      expect(await introspect(text)).toMatchObject({ active: false });
  });

  it('is over after 15 minutes', async () => {
    const { body } = await ask();
    clock.advance(15 * MINUTE - 1);
    expect(await introspect(body.access_token)).toMatchObject({ active: true });
    clock.advance(1);
    expect(await introspect(body.access_token)).toMatchObject({ active: false });
  });

  it('is dead with its key, and that of another key lives on', async () => {
    const [revoked, other] = [await tokenOfNewKey(), await tokenOfNewKey()];
    expect(await introspect(revoked.token)).toMatchObject({ active: true });
    await admin.revokeApiKey({ apiKeyId: revoked.apiKeyId });
    await expect.poll(() => introspect(revoked.token)).toMatchObject({ active: false });
    expect(await introspect(other.token)).toMatchObject({ active: true });
  });

  it.each<[string, (machine: { client: Tenant; of: Tenant }) => Promise<unknown>]>([
    [
      'the client has no OpenID Connect',
      ({ client }) => admin.updateApplication({ applicationId: client.id, openIdConnect: false }),
    ],
    ['the resource has none', ({ of }) => admin.updateApplication({ applicationId: of.id, openIdConnect: false })],
    ['the client is deleted', ({ client }) => admin.deleteApplication({ applicationId: client.id })],
    [
      'the resource lists another client',
      ({ of }) => admin.updateApplication({ applicationId: of.id, machineClientIds: [machine.clientId] }),
    ],
    [
      'its application is no resource any more',
      ({ of }) => admin.updateApplication({ applicationId: of.id, updateMask: { paths: ['resource_uri'] } }),
    ],
    [
      'its application became another resource when it was issued',
      ({ of }) => admin.updateApplication({ applicationId: of.id, resourceUri: `https://${of.clientId}.app.test/` }),
    ],
  ])('is dead once %s', async (_, end) => {
    const { client, of, token } = await createMachine();
    const before = await createMachine();
    expect(await introspect(token, of)).toMatchObject({ active: true });
    await end({ client, of });
    await expect.poll(() => introspect(token, of)).toMatchObject({ active: false });
    expect(await introspect(before.token, before.of)).toMatchObject({ active: true });
  });

  it('is dead with the end of its key', async () => {
    const expiresAt = timestampFromDate(new Date(clock.read().getTime() + MINUTE));
    const { apiKey } = await admin.createApiKey({ applicationId: machine.id, use: 'CLIENT_SECRET', expiresAt });
    const { body } = await ask({}, { ...machine, apiKey });
    clock.advance(MINUTE - 1);
    expect(await introspect(body.access_token)).toMatchObject({ active: true });
    clock.advance(1);
    expect(await introspect(body.access_token)).toMatchObject({ active: false });
  });

  it('names the client of its key, or is none', async () => {
    const expiresAt = new Date(clock.read().getTime() + MINUTE);
    const { apiKeyId, token } = await tokenOfNewKey();
    const fields = { resourceId: resource.id, apiKeyId, expiresAt, scope: '' };
    const { machineToken } = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);
    const sealed = (clientApplicationId: string) =>
      createMachineToken(machineToken, { ...fields, clientApplicationId });
    for (const [text, active] of [
      [token, true],
      [sealed(machine.id), true],
      [sealed(stranger.id), false],
    ] as const)
      expect(await introspect(text)).toMatchObject({ active });
  });

  it('is dead once the resource no longer lists the client', async () => {
    const { body } = await ask();
    await admin.updateApplication({ applicationId: resource.id, machineClientIds: [stranger.clientId] });
    await expect.poll(() => introspect(body.access_token)).toMatchObject({ active: false });
    await expect.poll(() => errorOf(ask())).toBe('400 invalid_target');
    await admin.updateApplication({ applicationId: resource.id, machineClientIds: [machine.clientId] });
    await expect.poll(() => introspect(body.access_token)).toMatchObject({ active: true });
    await expect.poll(async () => (await ask()).status).toBe(200);
  });

  it('is dead once the application is another resource, and a new one is for that', async () => {
    const { body } = await ask();
    const moved = 'https://moved.app.test/';
    const move = (resourceUri: string) => admin.updateApplication({ applicationId: resource.id, resourceUri });
    clock.advance(1_000);
    await move(moved);
    await expect.poll(() => introspect(body.access_token)).toMatchObject({ active: false });
    clock.advance(1_000);
    const { access_token } = (await ask({ resource: moved })).body;
    expect(await introspect(access_token)).toMatchObject({ active: true, aud: moved });
    await move(RESOURCE_URI);
    clock.advance(1_000);
    await expect.poll(async () => (await ask()).status).toBe(200);
    expect(await introspect(body.access_token)).toMatchObject({ active: false });
  });

  it('has no scope that the resource no longer has', async () => {
    const { body } = await ask({ scope: 'orders:read orders:write' });
    await admin.updateApplication({ applicationId: resource.id, resourceScopes: SCOPES.slice(1) });
    await expect.poll(() => introspect(body.access_token)).toMatchObject({ active: true, scope: 'orders:write' });
    await admin.updateApplication({ applicationId: resource.id, resourceScopes: SCOPES });
  });

  it('is stored nowhere', async () => {
    const count = async () => {
      const [row] = await service.database.sql`
        select (select count(*) from usher.oidc_grants) + (select count(*) from usher.sessions)
          + (select count(*) from usher.audit_events) as rows`;
      return row?.rows;
    };
    const before = await count();
    expect(await ask()).toMatchObject({ status: 200 });
    expect(await count()).toBe(before);
  });

  it('may have all scopes that a resource can have', async () => {
    const resourceScopes = Array.from({ length: 50 }, (_, at) => ({
      name: `${at}`.padEnd(100, 's'),
      description: 'S',
    }));
    const uri = 'https://large.app.test/';
    const large = await createTenant(service, {
      openIdConnect: true,
      resourceUri: uri,
      resourceScopes,
      machineClientIds: [machine.clientId],
    });
    const scope = resourceScopes.map(({ name }) => name).join(' ');
    const { body } = await ask({ resource: uri, scope });
    expect(await introspect(body.access_token, large)).toMatchObject({ active: true, scope });
  });
});
