/** The step-up of a certified provider, `oidc-provider`: the second factor that it has checked counts. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { interactionPolicy, Provider } from 'oidc-provider';
import { expect, onTestFinished, test, vi } from 'vitest';
import { findFreePort } from '../../../support/free-port.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { adminClient, createTestUser, PUBLIC_URL } from '../../../support/service.ts';

const CLIENT = { clientId: 'usher', clientSecret: 'a-secret-of-usher-at-the-provider' };

/**
 * Starts the provider. Its people enter a password, and a code of their app where `acr_values` asks for it.
 *
 * @param stepsUp whether it asks somebody who is signed in there with a password only
 */
async function startProvider(stepsUp: boolean) {
  for (const name of ['info', 'warn'] as const) vi.spyOn(console, name).mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const policy = interactionPolicy.base();
  policy.remove('consent');
  const isMissing = new interactionPolicy.Check('step_up', 'a second factor is demanded', ({ oidc }) => {
    const isDemanded = oidc.params?.acr_values !== undefined && oidc.session?.acr !== oidc.params.acr_values;
    return stepsUp && isDemanded;
  });
  policy.get('login')?.checks.add(isMissing);
  const port = await findFreePort();
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'real', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['a-key-of-cookies'] },
    claims: { openid: ['sub', 'acr', 'amr'], email: ['email'], profile: ['name'] },
    acrValues: ['password', 'gold'],
    scopes: ['openid', 'profile', 'email'],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: CLIENT.clientId, accountId: oidc.session?.accountId ?? '' });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [`${PUBLIC_URL}/login/callback/real`],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    interactions: { policy, url: (_, { uid }) => `/interaction/${uid}` },
    features: { devInteractions: { enabled: false } },
  });
  const handle = provider.callback();
  const server = createServer(async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return handle(request, response);
    const { params } = await provider.interactionDetails(request, response);
    const isGold = params.acr_values === 'gold';
    const login = { accountId: 'ada', acr: isGold ? 'gold' : 'password', amr: isGold ? ['pwd', 'otp'] : ['pwd'] };
    await provider.interactionFinished(request, response, { login });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return provider.issuer;
}

/** A browser at the provider. Returns where it is sent in the end: to the callback at Usher. */
class ProviderBrowser {
  readonly #cookies = new Map<string, string>();

  async follow(url: string): Promise<string> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value) this.#cookies.set(name, value);
      else this.#cookies.delete(name);
    }
    const next = new URL(response.headers.get('location') ?? '', url);
    return next.origin === PUBLIC_URL ? next.pathname + next.search : this.follow(next.href);
  }
}

async function open({ stepsUp }: { stepsUp: boolean }) {
  const issuer = await startProvider(stepsUp);
  const real = {
    ...{ id: 'real', name: 'Example Corporation', type: 'openid' as const, issuer, ...CLIENT },
    ...{ trustEmail: false, emailDomains: [], stepUp: { acr_values: 'gold' } },
    assurance: { amr: { mfa: 2 }, acr: { gold: 3 } },
  };
  const config = { loginMethods: ['email'] as const, loginProviders: [real], loginProviderIds: undefined };
  const fixture = await LoginFixture.open({ config, start: new Date() });
  onTestFinished(fixture.close);
  const { service, tenant } = fixture;
  const user = await createTestUser(service);
  await service.database.sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
    values (${issuer}, 'ada', ${user.id}, 'real', now())`;
  const [browser, atProvider] = [new LoginBrowser(service), new ProviderBrowser()];
  const demand = (requiredAssurance: 'TWO_FACTORS' | 'PHISHING_RESISTANT') =>
    adminClient(service).updateApplication({ applicationId: tenant.id, requiredAssurance });
  const choose = async (page: Awaited<ReturnType<LoginBrowser['open']>>) => {
    const { location = '' } = await browser.submit(page, '/login/provider');
    return browser.open(await atProvider.follow(location));
  };
  const arrive = () => fixture.arrive({ browser });
  const levelOf = async ({ loginIntentId }: { loginIntentId: string }) => {
    const [row] = await service.database.sql`select assurance from login_intents where id = ${loginIntentId}`;
    return row?.assurance;
  };
  return { arrive, choose, demand, levelOf };
}

test('a password there has one factor, and the step-up of a login that demands two counts', async () => {
  const { arrive, choose, demand, levelOf } = await open({ stepsUp: true });
  const first = await arrive();
  expect((await choose(first.page)).location).toContain('authToken=');
  expect(await levelOf(first.login)).toBe(1);
  await demand('TWO_FACTORS');
  const second = await arrive();
  expect((await choose(second.page)).location).toContain('authToken=');
  expect(await levelOf(second.login)).toBe(3);
});

test('a provider that asks nobody who is signed in there is asked once more, by a button', async () => {
  const { arrive, choose, demand, levelOf } = await open({ stepsUp: false });
  await choose((await arrive()).page);
  await demand('PHISHING_RESISTANT');
  const { login, page } = await arrive();
  const refused = await choose(page);
  expect(refused.alert).toContain('\u2068Example Corporation\u2069 has not checked a second factor.');
  expect(await levelOf(login)).toBeNull();
  expect((await choose(refused)).location).toContain('authToken=');
  expect(await levelOf(login)).toBe(3);
});
