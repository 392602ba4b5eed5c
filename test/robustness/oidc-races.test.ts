/** Tokens of OpenID Connect while replies are lost, and while users are signed out or erased. */
import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { createRsaJwk } from '../support/oidc.ts';
import {
  createOidcTenant,
  createVerifier,
  getUserinfo,
  redeem,
  refresh,
  signInForCode,
  type TokenReply,
} from '../support/oidc-client.ts';
import { adminClient, clientsOf, createTestUser, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const ROUNDS = quickOrLong(100, 1_000);
const RACES = quickOrLong(20, 200);
/** Chains that refresh at the same time. */
const CHAINS = 5;
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
      for (const reply of [refreshed, redeemed].filter(({ status }) => status === 200)) {
        // Nobody has asked this replica before.
        await using fresh = await startTestService({ database: service.database, like: service.config });
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
