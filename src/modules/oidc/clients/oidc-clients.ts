import type { Run } from '../../../database/pool/database.ts';
import { applications } from '../../../database/schema/schema.ts';
import { anyOf } from '../../../database/sql/any-of.ts';
import { p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import { CLIENT_ID } from '../../../domain/applications/client-id.ts';
import { BatchLoader } from '../../../domain/cache/batch-loader.ts';

const CLIENT = {
  id: applications.id,
  clientId: applications.clientId,
  redirectUris: applications.redirectUris,
  postLogoutRedirectUris: applications.postLogoutRedirectUris,
  publicClient: applications.publicClient,
  /** Always true for a public client, which has no secret to prove that the code is its own. */
  requirePkce: t.boolean,
  sessionMaxAgeSeconds: applications.sessionMaxAgeSeconds,
  requiredAssurance: applications.requiredAssurance,
  singleSignOn: applications.singleSignOn,
};

export type OidcClient = RowOfType<typeof CLIENT>;

/**
 * Finds the applications that may use OpenID Connect. Nothing is cached. Batches limit how many statements guesses
 * cost.
 */
export class OidcClients {
  readonly #loader: BatchLoader<OidcClient>;

  /** `run` has no deadline: several callers share one read, and their deadlines differ. */
  constructor(run: Run) {
    this.#loader = new BatchLoader(async (clientIds) => {
      const rows = await run(selectClients, { clientIds });
      return new Map(rows.map((client) => [client.clientId, client]));
    });
  }

  /** Returns the application of the client ID, which may be any text. */
  async find(clientId: string): Promise<OidcClient | undefined> {
    if (!CLIENT_ID.test(clientId)) return undefined;
    return this.#loader.load(clientId);
  }
}

const selectClients = statement('select_oidc_clients', CLIENT)`
  select id, client_id, redirect_uris, post_logout_redirect_uris, require_pkce or public_client as require_pkce,
    public_client, session_max_age_seconds, required_assurance, single_sign_on
  from applications where client_id = ${anyOf(p.texts('clientIds'))} and deleted_at is null and open_id_connect`;
