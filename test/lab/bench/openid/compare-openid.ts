/** OpenID Connect: compared with the documented calls that do the same, and with `oidc-provider` on the same Postgres. */
import { createPublicKey } from 'node:crypto';
import { onServer } from '../../../../src/testing/on-server.ts';
import { SIGNED_IN_USERS } from '../fixtures.ts';
import { measureRounds } from '../measure-rounds.ts';
import type { Meter } from '../meter.ts';
import type { Options } from '../options.ts';
import type { Progress } from '../run-bench.ts';
import { countUsers, Scenario, type Step } from '../scenario.ts';
import { createDocumentedSteps } from './documented-steps.ts';
import { measureSignature } from './measure-signature.ts';
import { reportOpenId } from './report-openid.ts';
import { createRivalSteps } from './rival-steps.ts';
import { type Scene, startProviders } from './start-providers.ts';
import { createUsherSteps } from './usher-steps.ts';

/** A flow is several requests. Its tokens and its session are checked as often. */
const REQUESTS_A_FLOW = 6;

/** How many users sign in. */
export function countOpenIdUsers({ requests, rounds, against }: Options): number {
  const scenarios = against === undefined ? 3 : 4;
  return scenarios * countUsers({ count: Math.ceil(requests / REQUESTS_A_FLOW), rounds });
}

/** Prints the tables. @throws Error for an unexpected response */
export async function compareOpenId(
  stack: AsyncDisposableStack,
  scene: Scene,
  options: Options,
  progress: Progress,
): Promise<void> {
  const { fixtures, environment } = scene;
  const { rounds, requests } = options;
  const providers = await startProviders(stack, scene, options, { users: countOpenIdUsers(options), progress });
  const publicKey = createPublicKey(providers.privateKey);
  const count = Math.ceil(requests / REQUESTS_A_FLOW);
  let nextUser = SIGNED_IN_USERS;
  const compare = (meter: Meter, steps: readonly Step[]) => new Scenario({ meter, steps, count }, () => nextUser++);
  const repeated = (step: Step): Step => ({ ...step, times: REQUESTS_A_FLOW });

  const { authorize, userinfo, ...openId } = createUsherSteps(fixtures, environment, publicKey);
  const flow = [authorize, openId.complete, openId.token, openId.refresh, repeated(userinfo)];
  const { generate, complete, exchange, check } = createDocumentedSteps(fixtures, environment);
  const { logIn, token, refresh } = createRivalSteps(fixtures, publicKey);
  const { usher, against, oidcProvider } = providers;
  const signature = { steps: [{ name: 'signature' }], measure: () => measureSignature(providers.privateKey) };
  const subjects = [
    { title: 'Usher', scenario: compare(usher, flow) },
    ...(against ? [{ title: 'against', scenario: compare(against, flow) }] : []),
    { title: 'Usher', scenario: compare(usher, [generate, complete, exchange, repeated(check)]) },
    { title: 'oidc-provider', scenario: compare(oidcProvider, [logIn, token, refresh]) },
    { title: 'RS256', scenario: signature },
  ];
  progress(`OpenID Connect: ${count} flows a round, ${rounds} rounds`);
  let analyzed: Promise<unknown> | undefined;
  const costs = await measureRounds(subjects, { rounds, progress }, async ({ scenario }, round) => {
    // Plans made while tables were empty read them whole, until Postgres analyzes them, which takes up to a minute.
    if (round > 0) analyzed ??= Promise.all([usher, oidcProvider].map(analyze));
    await analyzed;
    return scenario.measure(round);
  });
  reportOpenId(
    subjects.flatMap(({ title, scenario }, subject) =>
      scenario.steps.map(({ name }, step) => ({
        name: `${title}, ${name}`,
        rounds: costs[subject]?.flatMap((ofRound) => ofRound[step] ?? []) ?? [],
      })),
    ),
  );
}

function analyze({ databaseUrl }: Meter): Promise<unknown> {
  return onServer(databaseUrl, (sql) => sql`analyze`);
}
