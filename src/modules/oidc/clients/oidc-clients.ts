import type { Run } from '../../../database/pool/database.ts';
import { applications } from '../../../database/schema/schema.ts';
import { anyOf } from '../../../database/sql/any-of.ts';
import { columnsOf, p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import { callerColumns } from '../../../domain/applications/application.ts';
import { CLIENT_ID } from '../../../domain/applications/resource.ts';
import { BatchLoader } from '../../../domain/cache/batch-loader.ts';
import { RevalidatingCache } from '../../../domain/cache/revalidating-cache.ts';

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

/** Returns whether one of the redirect URIs has this origin. Pages of the origin then belong to that client. */
export function isOriginOf(origin: string | undefined, redirectUris: readonly string[]): origin is string {
  // Equivalent: guard: no URI is like that, and servers, which send no origin, wait for none to be read
  if (origin === undefined) return false;
  const portless = withoutLoopbackPort(origin);
  return redirectUris.some((uri) => {
    const own = originOf(uri);
    return own === origin || (portless !== undefined && withoutLoopbackPort(own) === portless);
  });
}

/** Returns an empty string for private schemes. Their origin is `null`, and so is that of every sandboxed page. */
function originOf(uri: string): string {
  return /^https?:/i.test(uri) ? new URL(uri).origin : '';
}

/** Returns undefined for other hosts. Redirect URIs of public clients match any port on a loopback host. */
function withoutLoopbackPort(origin: string): string | undefined {
  return /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?$/.exec(origin)?.[1];
}

type PublicClient = RowOfType<typeof callerColumns>;

/** Finds public clients, which need no secret. Batches limit how many statements guesses cost. */
export class PublicClients {
  readonly #cache: RevalidatingCache<PublicClient>;

  /** `run` has no deadline: several callers share one read, and their deadlines differ. */
  constructor(run: Run) {
    const loader = new BatchLoader(async (clientIds) => {
      const rows = await run(selectPublicClients, { clientIds });
      return new Map(rows.map((client) => [client.clientId, client]));
    });
    this.#cache = new RevalidatingCache((clientId) => loader.load(clientId));
  }

  /** Forgets every value. */
  clear(): void {
    this.#cache.clear();
  }

  /** Counts how many clients were cached, and how many had to be read. */
  get lookUps() {
    return this.#cache.lookUps;
  }

  async find(clientId: string): Promise<PublicClient | undefined> {
    if (!CLIENT_ID.test(clientId)) return undefined;
    return this.#cache.find(clientId);
  }
}

const selectPublicClients = statement('select_public_clients', callerColumns)`
  select ${columnsOf(callerColumns)} from applications
  where client_id = ${anyOf(p.texts('clientIds'))} and public_client and deleted_at is null`;
