/** OpenID Connect for applications. On if there are keys that sign ID tokens. */

import type { Config } from '../../config/config.ts';
import type { Run } from '../../database/pool/database.ts';
import type { LiveSessions } from '../../domain/sessions/live-sessions.ts';
import { LOOPBACK } from '../../domain/webhooks/address-policy.ts';
import type { Core, Module, OpenedModule } from '../module.ts';
import { CLIENTS_OFFER } from './account-clients.ts';
import { ClientDocuments } from './clients/client-documents.ts';
import { matchClient } from './clients/client-hosts.ts';
import { isClientUrl } from './clients/client-url.ts';
import { createFetchDocument } from './clients/fetch-document.ts';
import { PublicClients } from './clients/public-clients.ts';
import { Resources } from './clients/resources.ts';
import { createAuthorizationAnswers } from './domain/authorization/authorization-answer.ts';
import { LiveGrants } from './domain/grants/live-grants.ts';
import { MachineKeys } from './domain/machines/machine-keys.ts';
import { createAccessTokenOpener } from './domain/tokens/access-token.ts';
import { createOidcProvider, type OidcProvider } from './domain/tokens/provider.ts';
import { deriveTokenKeys } from './domain/tokens/token-keys.ts';
import { createOidcEndpoints } from './endpoints/endpoints.ts';
import { createOidcEdge } from './endpoints/oidc-edge.ts';
import { introspect } from './endpoints/token-status-endpoints.ts';
import { createLogoutTokens } from './logout-tokens.ts';
import { createOidcPages } from './pages/oidc-pages.ts';
import { OIDC_SETTINGS, type OidcConfig } from './settings.ts';

export const oidcModule: Module<Config & OidcConfig> = {
  name: 'oidc',
  settings: OIDC_SETTINGS,
  prepareProtocol(config, readIssuer, { encryptionKeys, oidcSigningKeys }) {
    const tokenKeys = deriveTokenKeys(encryptionKeys);
    const provider = createOidcProvider(oidcSigningKeys, tokenKeys);
    // The endpoints and the API share them.
    let opened: OpenedCaches | undefined;
    const allowsClient = (id: string) => !isClientUrl(id) || 'host' in matchClient(config.clientMetadataHosts, id);
    const openCaches = (run: Run, sessions: LiveSessions) =>
      (opened ??= { liveGrants: new LiveGrants(run, sessions, allowsClient), machineKeys: new MachineKeys(run) });
    return {
      createIntrospection:
        provider &&
        (({ run, liveSessions }) => {
          const openAccessToken = createAccessTokenOpener(tokenKeys.accessToken);
          const found = { ...openCaches(run, liveSessions), liveSessions, openAccessToken, tokenKeys };
          const parts = { ...found, issuer: readIssuer() };
          return (call, token) => introspect(call, parts, token);
        }),
      answers: createAuthorizationAnswers(readIssuer, tokenKeys),
      logoutTokens: provider && createLogoutTokens(readIssuer, provider.signingKeys),
      open: (core) =>
        provider && openOidc(provider, openCaches(core.api.runShared, core.api.caches.sessions), config, core),
    };
  },
  createPageOffer: () => CLIENTS_OFFER,
  open: async (_config, core) => core.protocol?.open(core),
  async generate() {
    const { writeProducts } = await import('./generate.ts');
    writeProducts();
  },
};

interface OpenedCaches {
  readonly liveGrants: LiveGrants;
  readonly machineKeys: MachineKeys;
}

function openOidc(oidc: OidcProvider, opened: OpenedCaches, config: Config & OidcConfig, core: Core): OpenedModule {
  const { admissions, caches, runShared } = core.api;
  const publicClients = new PublicClients(runShared);
  const resources = new Resources(runShared);
  const fetchDocument = createFetchDocument({
    allowedNetworks: config.webhookAllowedNetworks ?? (config.databaseUrl === undefined ? LOOPBACK : []),
    proxyUrl: config.webhookProxyUrl,
  });
  const documents = new ClientDocuments({ hosts: config.clientMetadataHosts, fetchDocument });
  const endpoints = createOidcEndpoints(oidc, {
    ...core,
    admission: admissions.api,
    apiKeys: caches.api_keys,
    documents,
    ...opened,
    liveSessions: caches.sessions,
    lookUps: admissions.key_lookup,
    publicClients,
    resources,
  });
  const pages = createOidcPages({ ...core, ...core.pages, admission: core.loginAdmission, documents, oidc, resources });
  const edge = createOidcEdge(oidc, core.tokens.issuer, endpoints, { ...core, takesClientUrls: documents.isOn });
  return {
    caches: { grants: opened.liveGrants, machine_keys: opened.machineKeys, public_clients: publicClients },
    laterHandlers: [edge, pages],
    [Symbol.asyncDispose]: async () => fetchDocument.close(),
  };
}
