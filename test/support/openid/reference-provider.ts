/** `oidc-provider`, a certified provider, in this process: what the tests of Usher must find right, too. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { exportJWK, generateKeyPair } from 'jose';
import { type Configuration, Provider } from 'oidc-provider';
import { vi } from 'vitest';
import { findFreePort } from '../free-port.ts';
import { LogoutReceiver } from './logout-receiver.ts';
import { CALLBACK, LOGGED_OUT, type OpenIdProvider, PERSON } from './provider.ts';

interface ReferenceOptions {
  readonly redirectUris?: readonly string[];
  readonly loggedOutUris?: readonly string[];
  /** Serves TLS under its own address. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export async function startReferenceProvider({
  redirectUris = [CALLBACK],
  loggedOutUris = [LOGGED_OUT],
  tls,
}: ReferenceOptions = {}): Promise<OpenIdProvider> {
  const logouts = await LogoutReceiver.start();
  const client = { clientId: 'first', clientSecret: 'a_secret-of+the first%client~' };
  const otherClient = { clientId: 'second', clientSecret: 'another_secret-of+the second%client~' };
  const clients = [client, otherClient].map(({ clientId, clientSecret }) => ({
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: [...redirectUris],
    post_logout_redirect_uris: [...loggedOutUris],
    response_types: ['code' as const],
    grant_types: ['authorization_code', 'refresh_token'],
    require_auth_time: true,
    backchannel_logout_uri: logouts.url,
  }));
  // It advises to change its defaults.
  const silenced = [vi.spyOn(console, 'info'), vi.spyOn(console, 'warn')].map((spy) =>
    spy.mockImplementation(() => {}),
  );
  const port = await findFreePort();
  const issuer = tls ? `https://localhost:${port}` : 'https://reference.test';
  const provider = new Provider(issuer, { ...(await createConfiguration()), clients });
  // Its issuer is https, and most tests speak to it without.
  provider.proxy = !tls;
  const server = tls ? createTlsServer(tls, provider.callback()) : createServer(provider.callback());
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const url = tls ? issuer : `http://127.0.0.1:${port}`;
  return {
    name: 'oidc-provider',
    route: { issuer, url, headers: { 'x-forwarded-proto': 'https' } },
    client,
    otherClient,
    logouts,
    now: () => new Date(),
    async wait(milliseconds) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });
    },
    async handlePage(browser, page, onSignIn) {
      const form = page.forms.find(({ action }) => action.includes('/interaction/'));
      const logout = page.forms.find(({ action }) => action.endsWith('/session/end/confirm'));
      if (logout) return browser.submit(page, logout, { logout: 'yes' });
      if (!form) return undefined;
      if (form.fields.prompt === 'login') onSignIn();
      return browser.submit(page, form, form.fields.prompt === 'login' ? { login: PERSON.email, password: 'any' } : {});
    },
    async [Symbol.asyncDispose]() {
      vi.useRealTimers();
      for (const spy of silenced) spy.mockRestore();
      await logouts[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function createConfiguration(): Promise<Configuration> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'reference', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')], long: { sameSite: 'none' } },
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: PERSON.email, email_verified: true, name: PERSON.name }),
    }),
    // As Usher does: nobody is asked to consent, and every client gets a refresh token.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid profile email offline_access');
      await grant.save();
      return grant;
    },
    issueRefreshToken: async () => true,
    rotateRefreshToken: false,
    conformIdTokenClaims: false,
    enableHttpPostMethods: true,
    allowOmittingSingleRegisteredRedirectUri: false,
    // Its own would not reach this machine.
    fetch: (url, options = {}) => {
      const { method = 'GET', headers = {}, body = null } = options;
      return fetch(url, { method, headers, body });
    },
    pkce: { required: () => false },
    responseTypes: ['code'],
    features: {
      devInteractions: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      backchannelLogout: { enabled: true },
      claimsParameter: { enabled: false },
    },
  };
}
