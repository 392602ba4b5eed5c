/** OpenID Connect: compared with the documented calls that do the same, and with `oidc-provider` on the same Postgres. */
import { createPublicKey } from 'node:crypto';
import { onServer } from '../../support/on-server.ts';
import { SIGNED_IN_USERS } from '../fixtures.ts';
import { measureRounds } from '../measure-rounds.ts';
import type { Meter } from '../meter.ts';
import type { Options } from '../options.ts';
import type { Progress } from '../run-bench.ts';
import { createDocumentedSteps } from './documented-steps.ts';
import { measureSignature } from './measure-signature.ts';
import { reportOpenId } from './report-openid.ts';
import { createRivalSteps } from './rival-steps.ts';
import { Scenario, WARM_UP_FACTOR } from './scenario.ts';
import { type Scene, startProviders } from './start-providers.ts';
import { createUsherSteps } from './usher-steps.ts';

/** A flow is several requests. */
const REQUESTS_A_FLOW = 6;

/** How many users sign in. */
export function countOpenIdUsers({ requests, rounds, against }: Options): number {
  const flows = against === undefined ? 3 : 4;
  return flows * Math.ceil(requests / REQUESTS_A_FLOW) * (WARM_UP_FACTOR + rounds);
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
  const begin = (users: number) => Array.from({ length: users }, () => ({ number: String(nextUser++) }));

  const openId = createUsherSteps(fixtures, environment, publicKey);
  const measureOpenId = (meter: Meter) => {
    const flow = new Scenario({ meter, steps: [openId.authorize, openId.complete, openId.token], count, begin });
    const refresh = new Scenario({ meter, steps: [openId.refresh], count, begin: flow.repeat });
    const userinfo = new Scenario({ meter, steps: [openId.userinfo], count: requests, begin: flow.repeat });
    return { flow, refresh, userinfo };
  };
  const { generate, complete, exchange, check } = createDocumentedSteps(fixtures, environment);
  const { usher, against, oidcProvider } = providers;
  const calls = new Scenario({ meter: usher, steps: [generate, complete, exchange], count, begin });
  const checks = new Scenario({ meter: usher, steps: [check], count: requests, begin: calls.repeat });
  const { logIn, token, refresh } = createRivalSteps(fixtures, publicKey);
  const rival = new Scenario({ meter: oidcProvider, steps: [logIn, token], count, begin });
  const rivalRefresh = new Scenario({ meter: oidcProvider, steps: [refresh], count, begin: rival.repeat });
  const own = measureOpenId(usher);
  const signature = { steps: [{ name: 'signature' }], measure: () => measureSignature(providers.privateKey) };
  const titled = Object.entries({ Usher: own, ...(against && { against: measureOpenId(against) }) });
  const subjects = [
    ...titled.flatMap(([title, scenarios]) => Object.values(scenarios).map((scenario) => ({ title, scenario }))),
    ...[calls, checks].map((scenario) => ({ title: 'Usher', scenario })),
    ...[rival, rivalRefresh].map((scenario) => ({ title: 'oidc-provider', scenario })),
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
