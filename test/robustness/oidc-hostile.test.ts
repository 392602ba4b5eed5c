/** Strangers at the endpoints of tokens: what they send, what the log tells of it, and keys that come and go. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { Database } from '../../src/database/database.ts';
import { cloneDatabase } from '../support/database.ts';
import { openHttpClient, request } from '../support/http.ts';
import { createRsaJwk } from '../support/oidc.ts';
import {
  basicOf,
  createOidcTenant,
  createVerifier,
  getUserinfo,
  post,
  redeem,
  refresh,
  signInForCode,
} from '../support/oidc-client.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { SecretScanner } from '../support/secret-scanner.ts';
import { createTestUser, REDIRECT_URI, startTestService, type TestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const REQUESTS = quickOrLong(5_000, 200_000);
const SEED = Number(process.env.HOSTILE_SEED ?? Date.now() % 1e9);
const CHUNK = 100;
const CLIENTS = 8;
const PATHS = ['/oidc/token', '/oidc/userinfo', '/oidc/revoke', '/oidc/introspect'];
/** What the endpoints may answer. */
const STATUSES = [200, 400, 401, 405, 413];

/** Returns requests that are nearly right, and others. */
async function hostileForms(service: TestService) {
  const tenant = await createOidcTenant(service);
  const open = await createOidcTenant(service, { publicClient: true });
  const user = await createTestUser(service);
  const { body: tokens } = await redeem(service, tenant, await signInForCode(service, tenant, user));
  const texts = [
    ...['', '\0', '%00', '\ud800', 'é'.repeat(300), 'A'.repeat(64), '1', 'null', "'; drop table users", '%', '+'],
    ...[tenant.clientId, open.clientId, tenant.apiKey, user.id, REDIRECT_URI, createVerifier()],
    ...[tokens.access_token ?? '', tokens.refresh_token ?? '', tokens.id_token ?? ''],
    ...['authorization_code', 'refresh_token', 'password', 'openid', 'openid email'],
  ];
  const change = (text: string, at: number) => `${text.slice(0, at)}~${text.slice(at + 1)}`;
  const value = fc.oneof(
    fc.constantFrom(...texts),
    fc.tuple(fc.constantFrom(...texts), fc.nat(120)).map(([text, at]) => change(text, at)),
    fc.string({ unit: 'binary', maxLength: 300 }),
  );
  const name = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token') },
    { weight: 9, arbitrary: fc.constantFrom('scope', 'token', 'access_token', 'client_id', 'client_secret') },
    fc.string({ maxLength: 20 }),
  );
  const pair = fc.tuple(name, value).map(([key, text]) => new URLSearchParams([[key, text]]).toString());
  const form = fc.array(fc.oneof({ weight: 9, arbitrary: pair }, fc.string({ maxLength: 100 })), { maxLength: 8 });
  const header = (text: string) => text.replaceAll(/[^\x21-\x7e]/g, '');
  const authorization = fc.oneof(
    fc.constant(basicOf(tenant).authorization ?? ''),
    fc.constant(basicOf({ ...tenant, apiKey: open.apiKey }).authorization ?? ''),
    value.map((text) => `Basic ${Buffer.from(text).toString('base64')}`),
    value.map((text) => `Bearer ${header(text)}`),
    value.map(header),
  );
  return fc.record({
    path: fc.constantFrom(...PATHS),
    method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'PUT'),
    body: fc.oneof(
      { weight: 20, arbitrary: form.map((parts) => parts.join('&')) },
      fc.constant(`token=${'x'.repeat(20_000)}`),
      fc.constant('a&'.repeat(8_000)),
    ),
    authorization: fc.option(authorization),
    type: fc.oneof(
      { weight: 9, arbitrary: fc.constant('application/x-www-form-urlencoded') },
      fc.constantFrom('application/json', 'multipart/form-data; boundary=x', ''),
    ),
  });
}

test(`answers ${REQUESTS} hostile requests without a defect`, async (context) => {
  const { lines: problems, logger } = new RecordedLog('error');
  await using service = await startTestService({ logger, oidcSigningKeys: [createRsaJwk()] });
  const forms = await hostileForms(service);
  const replies: Record<string, number> = {};
  let drawn = 0;
  const sendChunks = async () => {
    while (drawn < REQUESTS && problems.length < 10) {
      const seed = SEED + drawn;
      drawn += CHUNK;
      using client = openHttpClient(service.url, { httpVersion: '1.1' });
      for (const { path, method, body, authorization, type } of fc.sample(forms, { seed, numRuns: CHUNK })) {
        const headers = { ...(type && { 'content-type': type }), ...(authorization && { authorization }) };
        const reply = await client.send({ path, method, headers, ...(method !== 'GET' && { body }) });
        replies[reply.status] = (replies[reply.status] ?? 0) + 1;
        const isForm = reply.body === '' || Object(JSON.parse(reply.body)) !== undefined;
        if (!STATUSES.includes(reply.status) || !isForm) {
          problems.push(`${reply.status} ${reply.body} to ${JSON.stringify({ path, method, headers, body })}`);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, sendChunks));
  report(context, {
    tried: `${REQUESTS} hostile requests at the endpoints of tokens with the seed ${SEED}`,
    lost: `${problems.length} wrong replies`,
    figures: JSON.stringify(replies),
  });
  expect(problems, `with HOSTILE_SEED=${SEED}`).toEqual([]);
  expect(Object.keys(replies)).toEqual(expect.arrayContaining(['200', '400', '401']));
}, 1_800_000);

test('a stranger makes Postgres look for no grant and no session', async () => {
  await using service = await startTestService({ oidcSigningKeys: [createRsaJwk()] });
  const { run } = Database.prototype;
  const names = new Set<string>();
  vi.spyOn(Database.prototype, 'run').mockImplementation(function (this: Database, statement, ...rest) {
    names.add(statement.name);
    return run.call(this, statement, ...rest) as never;
  });
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => {
      const token = `uat_${randomBytes(82).toString('base64url')}`;
      const fields = { token, refresh_token: token, client_id: `client_${randomBytes(16).toString('hex')}` };
      const form = { ...fields, grant_type: 'refresh_token' };
      return post(
        service,
        PATHS[index % PATHS.length] ?? '',
        form,
        index % 3 ? {} : { authorization: `Bearer ${token}` },
      );
    }),
  );
  vi.restoreAllMocks();
  expect(names).toContain('selectPublicClients');
  for (const name of ['selectLiveOidcGrants', 'selectSessions', 'rotateOidcGrant', 'continueGrantedSession']) {
    expect(names).not.toContain(name);
  }
});

test('the log has no code, token, secret or address, whatever the outcome', async () => {
  const { lines, logger } = new RecordedLog('trace');
  await using service = await startTestService({ logger, oidcSigningKeys: [createRsaJwk()] });
  const tenant = await createOidcTenant(service);
  const open = await createOidcTenant(service, { publicClient: true });
  const user = await createTestUser(service);
  const scanner = new SecretScanner();
  scanner.keep('e-mail', user.email);
  scanner.keep('API key', tenant.apiKey);
  for (const [client, isPublic] of [
    [tenant, false],
    [open, true],
  ] as const) {
    const verifier = createVerifier();
    scanner.keep('verifier', verifier);
    const code = scanner.keep('code', await signInForCode(service, client, user, { verifier, scope: 'openid email' }));
    const { body } = await redeem(service, client, code, { verifier, isPublic });
    for (const kind of ['access_token', 'refresh_token', 'id_token']) scanner.keep(kind, body[kind] ?? '');
    await redeem(service, client, code, { verifier, isPublic });
    await getUserinfo(service, body.access_token);
    await getUserinfo(service, `${body.access_token}x`);
    await request(service.url, { path: `/oidc/userinfo?access_token=${body.access_token}` });
    const next = await refresh(service, client, body.refresh_token, { isPublic });
    scanner.keep('refresh_token', next.body.refresh_token ?? '');
    scanner.keep('access_token', next.body.access_token ?? '');
    const { clientId } = client;
    const token = next.body.refresh_token ?? '';
    if (!isPublic) await post(service, '/oidc/introspect', { token }, basicOf(client));
    await post(service, '/oidc/revoke', { token, client_id: clientId }, isPublic ? {} : basicOf(client));
    await refresh(service, client, token, { isPublic });
  }
  await expect.poll(() => lines.filter((line) => line.includes('/oidc/revoke')).length).toBeGreaterThan(1);
  expect(lines.length).toBeGreaterThan(10);
  scanner.look('the log', lines.join('\n'));
  const rows = await service.database.sql`select * from oidc_grants`;
  scanner.look('the table of grants', JSON.stringify(rows));
  expect(scanner.leaks).toEqual([]);
});

test('tokens live on while their key is among those of the service, and are refused without an error afterwards', async () => {
  await using database = await cloneDatabase();
  await using old = await startTestService({ database, oidcSigningKeys: [createRsaJwk('old')] });
  const tenant = await createOidcTenant(old);
  const user = await createTestUser(old);
  const { body } = await redeem(old, tenant, await signInForCode(old, tenant, user));
  const code = await signInForCode(old, tenant, user);
  const { encryptionKeys = [], oidcSigningKeys = [] } = old.config.secrets;
  const newest = randomBytes(32);
  const both = { ...old.config.secrets, encryptionKeys: [newest, ...encryptionKeys] };
  const secrets = { ...both, oidcSigningKeys: [createRsaJwk('new'), ...oidcSigningKeys] };
  await using rotating = await startTestService({ database, like: old.config, config: { secrets } });
  expect(await getUserinfo(rotating, body.access_token)).toMatchObject({ status: 200 });
  expect(await redeem(rotating, tenant, code)).toMatchObject({ status: 200 });
  const { body: renewed } = await refresh(rotating, tenant, body.refresh_token);
  expect(JSON.parse(Buffer.from(renewed.id_token?.split('.')[0] ?? '', 'base64url').toString()).kid).toBe('new');

  const { lines, logger } = new RecordedLog('error');
  const only = { ...secrets, encryptionKeys: [newest] };
  await using without = await startTestService({ database, like: old.config, logger, config: { secrets: only } });
  expect(await getUserinfo(without, body.access_token)).toMatchObject({ status: 401 });
  expect(await refresh(without, tenant, body.refresh_token)).toMatchObject({ body: { error: 'invalid_grant' } });
  expect(await refresh(without, tenant, renewed.refresh_token)).toMatchObject({ status: 200 });
  expect(lines).toEqual([]);
});
