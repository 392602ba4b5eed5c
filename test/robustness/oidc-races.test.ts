/** Tokens of OpenID Connect while replies and connections are lost, and while users are signed out or erased. */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TcpProxy } from '../../src/testing/tcp-proxy.ts';
import { cloneDatabase } from '../support/database.ts';
import { openHttpClient } from '../support/http.ts';
import { createRsaJwk } from '../support/oidc.ts';
import {
  basicOf,
  createOidcTenant,
  createVerifier,
  getUserinfo,
  redeem,
  refresh,
  signInForCode,
  type TokenReply,
} from '../support/oidc-client.ts';
import { adminClient, clientsOf, createTestUser, REDIRECT_URI, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const ROUNDS = quickOrLong(60, 1_000);
const RACES = quickOrLong(6, 200);
const CODES = quickOrLong(6, 300);
/** The longest that a client waits, or a connection to Postgres lasts, where they are lost. */
const LOSS_MS = 40;
/** Chains that refresh at the same time. */
const CHAINS = quickOrLong(3, 5);
/** After so many rounds a chain ends by the use of an ancestor, and another begins. */
const CHAIN_LENGTH = 20;
const isPublic = true;
const INVALID_GRANT = { status: 400, body: { error: 'invalid_grant' } };

async function openReplicas(flags: { publicClient?: boolean } = {}) {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await cloneDatabase());
  const service = stack.use(await startTestService({ database, oidcSigningKeys: [createRsaJwk()] }));
  const replica = stack.use(await startTestService({ database, like: service.config }));
  const tenant = await createOidcTenant(service, flags);
  return { service, replicas: [service, replica], tenant, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test(`in ${ROUNDS} rounds of lost replies nobody is signed out, and no ancestor is accepted`, async (context) => {
  await using replicas = await openReplicas({ publicClient: true });
  const { service, tenant } = replicas;
  const replicaAt = () => replicas.replicas[randomInt(2)] ?? service;
  const refreshAt = (token: string) => refresh(replicaAt(), tenant, token, { isPublic });
  const signedOut: TokenReply[] = [];
  const accepted: string[] = [];
  let lost = 0;

  const signIn = async () => {
    const verifier = createVerifier();
    const code = await signInForCode(service, tenant, await createTestUser(service), { verifier });
    return redeem(service, tenant, code, { verifier, isPublic });
  };
  const runChain = async (rounds: number) => {
    let token = (await signIn()).body.refresh_token ?? '';
    const ancestors: string[] = [];
    for (let round = 0; round < rounds; round++) {
      // Some replies do not arrive, so the client asks again: later, or at once on the other replica.
      const tries = randomInt(4);
      const isAtOnce = randomInt(2) === 1;
      const unheard = Array.from({ length: tries }, () => () => refreshAt(token));
      if (isAtOnce) await Promise.all(unheard.map((send) => send()));
      else for (const send of unheard) await send();
      lost += tries;
      const reply = await refreshAt(token);
      if (reply.status !== 200) signedOut.push(reply);
      ancestors.push(token);
      token = reply.body.refresh_token ?? '';
    }
    // The last one is still good, since its successor has not been used.
    const ancestor = ancestors[randomInt(ancestors.length - 1)] ?? '';
    if ((await refreshAt(ancestor)).status === 200) accepted.push(ancestor);
    expect(await refreshAt(token)).toMatchObject(INVALID_GRANT);
  };
  const chains = ROUNDS / CHAIN_LENGTH / CHAINS;
  await Promise.all(
    Array.from({ length: CHAINS }, async () => {
      for (let chain = 0; chain < chains; chain++) await runChain(CHAIN_LENGTH);
    }),
  );

  report(context, {
    tried: `${ROUNDS} refreshes of public clients, ${lost} replies lost`,
    lost: `${signedOut.length} users signed out, ${accepted.length} ancestors accepted`,
  });
  expect(signedOut).toEqual([]);
  expect(accepted).toEqual([]);
}, 1_800_000);

test(`${CODES} codes are redeemed once each by 50 requests to two replicas, whatever is lost`, async (context) => {
  await using stack = new AsyncDisposableStack();
  await using replicas = await openReplicas();
  const { service, tenant } = replicas;
  const { database, config: like } = service;
  const proxies = [stack.use(await TcpProxy.open(database.url)), stack.use(await TcpProxy.open(database.url))];
  const behind: string[] = [];
  for (const proxy of proxies) {
    const config = { databaseUrl: proxy.through(database.url) };
    behind.push(stack.use(await startTestService({ database, like, config })).url);
  }
  const verifier = createVerifier();
  const send = async (code: string, waitsMs?: number): Promise<TokenReply['status'] | undefined> => {
    using client = openHttpClient(behind[randomInt(2)] ?? '', { httpVersion: '1.1' });
    const fields = { grant_type: 'authorization_code', redirect_uri: REDIRECT_URI, code, code_verifier: verifier };
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...basicOf(tenant) };
    const body = new URLSearchParams(fields).toString();
    const reply = client.send({ path: '/oidc/token', headers, body }).then(({ status }) => status);
    if (waitsMs === undefined) return await reply;
    // The client leaves, and nobody reads the answer.
    return await Promise.race([reply.catch(() => undefined), sleep(waitsMs, undefined)]);
  };
  const fifty = <Result>(start: () => Result) => Array.from({ length: 50 }, start);
  const statuses = new Map<number | undefined, number>();
  const lost = ['nothing', 'replies', 'connections to Postgres'] as const;
  for (let round = 0; round < CODES; round++) {
    const loses = lost[round % lost.length];
    const user = await createTestUser(service);
    const code = await signInForCode(service, tenant, user, { verifier });
    const sent = fifty(() => send(code, loses === 'replies' ? randomInt(LOSS_MS) : undefined));
    if (loses === 'connections to Postgres') {
      await sleep(randomInt(LOSS_MS));
      await Promise.all(proxies.map((proxy) => proxy.setMode('reset')));
      await Promise.all(proxies.map((proxy) => proxy.setMode('pass')));
    }
    const heard = await Promise.all(sent);
    for (const status of heard) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const winners = heard.filter((status) => status === 200).length;
    // After a reset the replicas may still be without some of their connections, so that the winner gets no answer.
    if (round === 0 || (loses === 'nothing' && !heard.includes(503))) expect(winners).toBe(1);
    expect(winners, loses).toBeLessThanOrEqual(1);
    // What nobody has heard of is used up all the same.
    const last = await redeem(service, tenant, code, { verifier });
    expect(last.status, loses).toBe(winners === 0 && last.status === 200 ? 200 : 400);
    // A redemption has a row in the audit log, and so has the session that begins.
    const changes =
      await database.sql`select id from audit_events where resource = ${user.id} and action = 'POST /oidc/token'`;
    expect(changes.length, loses).toBeLessThanOrEqual(2);
    expect(changes.length, loses).toBeGreaterThan(0);
    // The replicas open the connections again that they have lost.
    if (loses === 'connections to Postgres')
      await expect
        .poll(async () => new Set(await Promise.all(fifty(() => send(code)))), { timeout: 60_000 })
        .toEqual(new Set([400]));
  }
  const figures = [...statuses].map(([status, count]) => `${count} times ${status ?? 'no reply'}`).join(', ');
  report(context, { tried: `${CODES} codes, each in 50 requests at once to 2 replicas`, figures });
  expect([...statuses.keys()].filter((status) => ![200, 400, 503, undefined].includes(status))).toEqual([]);
}, 1_800_000);

test.each([
  ['with a secret', false],
  ['without one', true],
])(
  'what a client %s gets while RevokeUserSessions runs is worth nothing after its answer',
  async (_which, publicClient) => {
    await using replicas = await openReplicas({ publicClient });
    const { service, replicas: both, tenant } = replicas;
    const [first = service, second = service] = both;
    for (let race = 0; race < RACES; race++) {
      const user = await createTestUser(service);
      const verifier = createVerifier();
      const options = { verifier, isPublic: publicClient };
      const code = await signInForCode(service, tenant, user, { verifier });
      const { body } = await redeem(service, tenant, code, options);
      const late = await signInForCode(service, tenant, user, { verifier });
      // The session has ended, so each of the requests begins another.
      await service.database.sql`delete from sessions where user_id = ${user.id}`;
      const [refreshed, redeemed] = await Promise.all([
        refresh(second, tenant, body.refresh_token, { isPublic: publicClient }),
        redeem(second, tenant, late, options),
        clientsOf(first, tenant).sessions.revokeUserSessions({ userId: user.id }),
      ]);
      for (const { status } of [refreshed, redeemed]) expect([200, 400]).toContain(status);
      const successes = [refreshed, redeemed].filter(({ status }) => status === 200);
      if (successes.length === 0) continue;
      // Nobody has asked this replica before.
      await using fresh = await startTestService({ database: service.database, like: service.config });
      for (const reply of successes) {
        expect(await getUserinfo(fresh, reply.body.access_token)).toMatchObject({ status: 401 });
        expect(await refresh(first, tenant, reply.body.refresh_token, { isPublic: publicClient })).toMatchObject(
          INVALID_GRANT,
        );
      }
    }
  },
  1_800_000,
);

test('a code that is redeemed while EraseUser runs leaves nothing of the user', async () => {
  await using replicas = await openReplicas();
  const { service, replicas: both, tenant } = replicas;
  const [first = service, second = service] = both;
  for (let race = 0; race < RACES; race++) {
    const user = await createTestUser(service);
    await redeem(service, tenant, await signInForCode(service, tenant, user));
    const code = await signInForCode(service, tenant, user);
    await Promise.all([redeem(second, tenant, code), adminClient(first).eraseUser({ userId: user.id })]);
    const left = await service.database.sql`select id from oidc_grants where user_id = ${user.id}`;
    expect(left).toEqual([]);
  }
}, 600_000);

test('a code whose grant is half stored when EraseUser comes leaves nothing of the user', async () => {
  await using replicas = await openReplicas();
  const { service, replicas: both, tenant } = replicas;
  // On connections of its own: the gate is no lock, so a statement behind that of the code would wait for it.
  const [, second = service] = both;
  const { sql } = service.database;
  const user = await createTestUser(service);
  // The code is of a later sign-in, which the session learns of in a second statement.
  await redeem(service, tenant, await signInForCode(service, tenant, user));
  const code = await signInForCode(service, tenant, user);
  await sql.unsafe(`
    create table gate (is_closed boolean);
    insert into gate values (true);
    create function wait_at_gate() returns trigger language plpgsql as $$
      begin while exists (select from gate) loop perform pg_sleep(0.01); end loop; return new; end $$;
    create trigger gate before insert on oidc_grants for each row execute function wait_at_gate()`);
  const redeemed = redeem(service, tenant, code);
  const isWaiting = () => sql`
    select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  await expect.poll(isWaiting).not.toEqual([]);
  await adminClient(second).eraseUser({ userId: user.id });
  await sql`delete from gate`;
  expect(await redeemed).toMatchObject(INVALID_GRANT);
  expect(await sql`select from oidc_grants where user_id = ${user.id}`).toEqual([]);
});
