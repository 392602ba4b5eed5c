/** OpenID Connect for applications. On if there are keys that sign ID tokens. */
import { deriveAccountKeys } from '../../domain/account/account-keys.ts';
import type { Module } from '../module.ts';
import { createAuthorizationAnswers } from './domain/authorization-answer.ts';
import { LiveGrants } from './domain/live-grants.ts';
import { createOidcProvider } from './domain/provider.ts';
import { PublicClients } from './domain/public-clients.ts';
import { createOidcEndpoints } from './endpoints/endpoints.ts';
import { createOidcEdge } from './endpoints/oidc-edge.ts';
import { createLogoutTokens } from './logout-tokens.ts';
import { createOidcPages } from './pages/oidc-pages.ts';

export const oidcModule: Module = {
  name: 'oidc',
  settings: {},
  protocol: {
    createAnswers: (issuer, { encryptionKeys }) => createAuthorizationAnswers(issuer, encryptionKeys),
    createLogoutTokens(readIssuer, secrets) {
      const provider = createOidcProvider(secrets);
      return provider && createLogoutTokens(readIssuer, provider.signingKeys);
    },
  },
  async open({ singleSignOnMaxAgeSeconds }, core) {
    const oidc = createOidcProvider(core.secrets);
    if (!oidc) return undefined;
    const { admissions, caches, runShared } = core.api;
    const liveGrants = new LiveGrants(runShared, caches.sessions);
    const publicClients = new PublicClients(runShared);
    const endpoints = createOidcEndpoints(oidc, {
      ...core,
      admission: admissions.api,
      apiKeys: caches.api_keys,
      liveGrants,
      liveSessions: caches.sessions,
      lookUps: admissions.key_lookup,
      publicClients,
    });
    const accountKeys = deriveAccountKeys(core.secrets.encryptionKeys);
    const pages = createOidcPages({
      ...core,
      accountKeys,
      admission: core.loginAdmission,
      oidc,
      singleSignOnMaxAgeSeconds,
    });
    return {
      caches: { grants: liveGrants, public_clients: publicClients },
      laterHandlers: [createOidcEdge(oidc, core.tokens.issuer, endpoints, core), pages],
    };
  },
};
