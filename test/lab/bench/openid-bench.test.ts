/** The benchmark of OpenID Connect measures what it names, and the provider that Usher is compared with does its work. */
import { execFile } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openClient } from '../../../src/database/connection/open-client.ts';
import { REPOSITORY } from '../../support/process.ts';
import { quickOrLong } from '../../support/soak.ts';
import type { Client } from './load/client.ts';
import { createRivalSteps } from './openid/rival-steps.ts';
import { startProviders } from './openid/start-providers.ts';
import type { Facts, Step } from './scenario.ts';
import { prepareDatabase } from './set-up.ts';

const FIGURE = String.raw` +\d+ +±\d+ % +\d+$`;

test('npm run bench -- --only OpenID measures each step of both providers', async () => {
  // A first exchange is of users who have not signed in with OpenID Connect.
  const exchange = ['--only', 'ExchangeToken first', '--server', 'usher', '--protocol', 'REST'];
  const few = ['--rounds', '1', '--requests', '12', '--warm-up', '2'];
  const bench = ['src/run.js', 'test/lab/bench/main.ts', '--only', 'OpenID', ...exchange, ...few];
  const { stdout } = await promisify(execFile)(process.execPath, bench, { cwd: REPOSITORY });
  const steps = {
    Usher: ['authorize', 'CompleteLogin of OpenID', 'token by code', 'token by refresh token', 'userinfo'],
    'oidc-provider': ['login', 'token by code', 'token by refresh token'],
    RS256: ['signature'],
  };
  for (const [server, names] of Object.entries(steps))
    for (const name of names) expect(stdout).toMatch(new RegExp(`^${server}, ${name}${FIGURE}`, 'm'));
  expect(stdout).toMatch(/^Usher, REST +\d+ +±/m);
  // Each goal has a figure, met or not.
  expect(stdout.match(/^.+ \d+\.\d\dx +±\d+ % +\d+\.\d\dx +(met|MISSED)$/gm)).toHaveLength(4);
}, 300_000);

test.runIf(quickOrLong(false, true))(
  'the provider that Usher is compared with redeems a code once, and stores what it issues in Postgres',
  async () => {
    await using stack = new AsyncDisposableStack();
    const ignore = () => {};
    const scene = await prepareDatabase(stack, 1, ignore);
    const options = { against: undefined, isProfiling: false };
    const { oidcProvider, privateKey } = await startProviders(stack, scene, options, { users: 1, progress: ignore });
    const { logIn, token, refresh } = createRivalSteps(scene.fixtures, createPublicKey(privateKey));
    const run = async (step: Step, facts: Facts): Promise<Facts> => {
      let answer: Facts = {};
      await oidcProvider.measure(1, async (client: Client) => {
        answer = await step.run(client, facts);
      });
      return answer;
    };
    const signedIn = await run(logIn, { number: '250' });
    const tokens = await run(token, signedIn);
    // An opaque token, as by default.
    expect(tokens.accessToken).toMatch(/^[\w-]{43}$/);
    expect((await run(refresh, tokens)).accessToken).not.toBe(tokens.accessToken);
    const sql = stack.adopt(openClient(oidcProvider.databaseUrl, { max: 1 }), (client) => client.end());
    const [stored] = await sql`
    select (select count(*)::int from public.oidc_access_token) as access, consumed_at is not null as consumed,
      (select count(*)::int from public.oidc_grant) as grants, (select count(*)::int from public.oidc_refresh_token) as refresh
    from public.oidc_authorization_code`;
    expect(stored).toEqual({ access: 2, consumed: true, grants: 1, refresh: 1 });
    await expect(run(token, signedIn)).rejects.toThrow('invalid_grant');
  },
  300_000,
);
