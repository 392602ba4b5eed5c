/** OpenID Connect for applications. On if there are keys that sign ID tokens. */

import { randomUUID } from 'node:crypto';
import type { CallLog } from '../../api/calls.ts';
import type { Config } from '../../config/config.ts';
import { parseOidcSigningKeys } from '../../config/signing-keys.ts';
import type { Run } from '../../database/pool/database.ts';
import type { LogoutTokens } from '../../delivery/send-delivery.ts';
import { endClient, exportConsents, listUserClients, type UsedClient } from '../../domain/grants/clients.ts';
import type { CreateIntrospection } from '../../domain/grants/token-status.ts';
import type { LogoutData } from '../../domain/outbox/logout-message.ts';
import type { LiveSessions } from '../../domain/sessions/live-sessions.ts';
import { html } from '../../http/html.ts';
import { watchFiles } from '../../jobs/watch-files.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { AccountFormView, PageOffer, ShownSection } from '../../login-page/offer/page-offer.ts';
import { renderAccountPanel, renderItem, renderToken } from '../../login-page/pages/parts.ts';
import { isolate } from '../../texts/isolate.ts';
import { comparePublished } from '../check.ts';
import type { Core, Module, OpenedModule } from '../module.ts';
import { ClientDocuments } from './clients/client-documents.ts';
import { isClientUrl, matchClient } from './clients/client-url.ts';
import { createFetchDocument } from './clients/fetch-document.ts';
import { PublicClients } from './clients/oidc-clients.ts';
import { Resources } from './clients/resources.ts';
import { createAuthorizationAnswers } from './domain/authorization/authorization-answer.ts';
import { LiveGrants } from './domain/grants/live-grants.ts';
import { MachineKeys } from './domain/machines/machine-keys.ts';
import { createAccessTokenOpener } from './domain/tokens/access-token.ts';
import { createOidcProvider, type OidcProvider } from './domain/tokens/provider.ts';
import type { OidcSigningKeys } from './domain/tokens/signing-keys.ts';
import { deriveTokenKeys } from './domain/tokens/token-keys.ts';
import { createOidcEndpoints } from './endpoints/endpoints.ts';
import { JWKS_PATH } from './endpoints/metadata.ts';
import { createOidcEdge } from './endpoints/oidc-edge.ts';
import { introspect } from './endpoints/token-status-endpoints.ts';
import { createOidcPages } from './pages/oidc-pages.ts';
import { OIDC_SETTINGS, type OidcConfig } from './settings.ts';

/** The clients that act for a person, on the account page. */
const PATH = 'clients/end';

const CLIENTS_OFFER: PageOffer = {
  accountSection: {
    notes: { client: 'account.note.client' },
    exportData: exportConsents,
    async show({ call }, view, { id }) {
      return renderClients(view, await listUserClients(call, id));
    },
  },
  createActions(account) {
    if (!account) return [];
    const run = account.changing('', async (request, { user, call }) => {
      const { application: applicationId, client: clientId } = pickFields(request, 'application', 'client');
      await endClient(call, { applicationId, clientId, userId: user.id });
      request.parts.onSignedOut(user.id);
      account.redirect(request, '', { done: 'client' });
    });
    return [{ method: 'POST', path: `/account/${PATH}`, form: 'choice', run }];
  },
};

/** Renders nothing without clients, because most people use none. */
function renderClients(view: AccountFormView, clients: readonly UsedClient[]): ShownSection {
  const { language, path } = view;
  if (clients.length === 0) return {};
  const items = clients.map(({ applicationId, applicationName, clientId, clientName, usedAt }) => {
    const name = html`${isolate(clientName)} (<bdi dir="ltr">${new URL(clientId).hostname}</bdi>)`;
    const used = language.html('account.clients.used', { date: language.date(usedAt) });
    return renderItem(
      name,
      html`${isolate(applicationName)} · ${used}`,
      html`<form method="post" action="${path}/${PATH}">${renderToken(view)}<input type="hidden" name="application" value="${applicationId}"><input type="hidden" name="client" value="${clientId}"><button class="second">${language.text('account.clients.end')}<span class="hide"> ${isolate(clientName)}</span></button></form>`,
    );
  });
  const text = language.text('account.clients.text');
  return {
    panel: renderAccountPanel(
      'clients',
      language.text('account.clients'),
      html`<p class="item soft">${text}</p>\n${items}`,
    ),
  };
}

export const oidcModule: Module<Config & OidcConfig> = {
  name: 'oidc',
  settings: OIDC_SETTINGS,
  checks: [
    {
      check: 'keys of OpenID Connect',
      settings: ['OIDC_SIGNING_KEYS_FILE'],
      run: (context) => comparePublished(context, JWKS_PATH, context.secrets.oidcSigningKeys),
    },
  ],
  offer(config, { publicUrl, secrets: { encryptionKeys, oidcSigningKeys } }) {
    const tokenKeys = deriveTokenKeys(encryptionKeys);
    const provider = createOidcProvider(oidcSigningKeys, tokenKeys);
    const answers = createAuthorizationAnswers(publicUrl, tokenKeys);
    if (!provider) return { pages: CLIENTS_OFFER, protocol: { answers } };
    // The endpoints and the API share them.
    let opened: OpenedCaches | undefined;
    const allowsClient = (id: string) => !isClientUrl(id) || 'host' in matchClient(config.clientMetadataHosts, id);
    const openCaches = (run: Run, sessions: LiveSessions) =>
      (opened ??= { liveGrants: new LiveGrants(run, sessions, allowsClient), machineKeys: new MachineKeys(run) });
    const createIntrospection: CreateIntrospection = ({ run, liveSessions }) => {
      const openAccessToken = createAccessTokenOpener(tokenKeys.accessToken);
      const parts = { ...openCaches(run, liveSessions), issuer: publicUrl, liveSessions, openAccessToken, tokenKeys };
      return (call, token) => introspect(call, parts, token);
    };
    return {
      pages: CLIENTS_OFFER,
      protocol: { answers, createIntrospection, logoutTokens: createLogoutTokens(publicUrl, provider.signingKeys) },
      open(core) {
        watchSigningKeys(config.keyFiles.oidc, provider.signingKeys, core);
        return openOidc(provider, openCaches(core.api.runShared, core.api.caches.sessions), config, core);
      },
    };
  },
};

/** Reads the file of the keys again when it changes, until Usher stops. */
async function watchSigningKeys(
  file: string | undefined,
  keys: OidcSigningKeys,
  { closing: signal, logger }: Pick<Core, 'closing' | 'logger'>,
): Promise<void> {
  if (file === undefined) return;
  await watchFiles([file], {
    signal,
    use: (text = '') => keys.replace(parseOidcSigningKeys(text)),
    onUsed: () => logger.info({ keyIds: keys.publicJwks.keys.map(({ kid }) => kid) }, 'OpenID Connect keys read again'),
    onError: (error) => logger.error({ err: error }, 'OpenID Connect keys not read again'),
  });
}

type OidcCore = CallLog &
  Pick<
    Core,
    | 'api'
    | 'authPageUrl'
    | 'clock'
    | 'database'
    | 'loginAdmission'
    | 'logins'
    | 'notices'
    | 'onMessage'
    | 'onSignedOut'
    | 'pages'
    | 'policy'
    | 'sessionMaxAgeSeconds'
    | 'tokens'
  >;

interface OpenedCaches {
  readonly liveGrants: LiveGrants;
  readonly machineKeys: MachineKeys;
}

function openOidc(oidc: OidcProvider, opened: OpenedCaches, config: Config & OidcConfig, core: OidcCore): OpenedModule {
  const { admissions, caches, runShared } = core.api;
  const publicClients = new PublicClients(runShared);
  const resources = new Resources(runShared);
  const fetchDocument = createFetchDocument({ policy: core.policy, proxyUrl: config.webhookProxyUrl });
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
    handlers: [edge, pages],
    [Symbol.asyncDispose]: async () => fetchDocument.close(),
  };
}

/** Logout tokens: OpenID Connect Back-Channel Logout 1.0, section 2.4. */
const LIFETIME_SECONDS = 120;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

function createLogoutTokens(issuer: string, keys: OidcSigningKeys): LogoutTokens {
  return {
    sign(payload, now) {
      const { data }: { data: LogoutData } = JSON.parse(payload);
      const issuedAt = Math.floor(now.getTime() / 1_000);
      const times = { iat: issuedAt, exp: issuedAt + LIFETIME_SECONDS };
      return keys.sign({ iss: issuer, ...data, ...times, jti: randomUUID(), events: { [EVENT]: {} } }, 'logout+jwt');
    },
  };
}
