import { applications } from '../../database/schema.ts';
import { p, type RowOfType, statement, t } from '../../database/template.ts';
import type { Call } from '../call.ts';

const CLIENT = {
  id: applications.id,
  clientId: applications.clientId,
  redirectUris: applications.redirectUris,
  postLogoutRedirectUris: applications.postLogoutRedirectUris,
  /** A public client has no other proof that the code is its own. */
  requirePkce: t.boolean,
  sessionMaxAgeSeconds: applications.sessionMaxAgeSeconds,
  singleSignOn: applications.singleSignOn,
};

export type OidcClient = RowOfType<typeof CLIENT>;

/** Returns the application of the client ID, which may be any text, if it may use OpenID Connect. */
export async function findOidcClient({ run }: Call, clientId: string): Promise<OidcClient | undefined> {
  if (!/^[\x20-\x7e]{1,255}$/.test(clientId)) return undefined;
  const [client] = await run(selectClient, { clientId });
  return client;
}

const selectClient = statement('select_oidc_client', CLIENT)`
  select id, client_id, redirect_uris, post_logout_redirect_uris, require_pkce or public_client as require_pkce,
    session_max_age_seconds, single_sign_on
  from applications where client_id = ${p.text('clientId')} and deleted_at is null and open_id_connect`;
