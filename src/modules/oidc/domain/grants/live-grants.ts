import { sql } from 'drizzle-orm';
import type { Run } from '../../../../database/pool/database.ts';
import { oidcGrants } from '../../../../database/schema/oidc-schema.ts';
import { applications, users } from '../../../../database/schema/schema.ts';
import { anyOf } from '../../../../database/sql/any-of.ts';
import { nullable, p, type RowOfType, statement, t } from '../../../../database/sql/template.ts';
import { createApplicationCache } from '../../../../domain/cache/application-cache.ts';
import type { RevalidatingCache } from '../../../../domain/cache/revalidating-cache.ts';
import { findAccess, NOTHING_PROVED } from '../../../../domain/login/proved-user.ts';
import { latestCutoff } from '../../../../domain/sessions/cutoffs.ts';
import type { LiveSessions } from '../../../../domain/sessions/live-sessions.ts';
import { preferredUsername, shownAttributes } from '../../../../domain/users/attributes.ts';
import { isActiveUser } from '../../../../domain/users/user.ts';

const { userId, sid, assurance, rotation, authenticatedAt, expiresAt } = oidcGrants;
const GRANT = {
  ...{ userId, sid, assurance, rotation, authenticatedAt, expiresAt },
  /** The client, which may be another than the application. */
  clientId: applications.clientId,
  /** Null unless the client is another. */
  resourceUri: applications.resourceUri,
  scopeNames: oidcGrants.scopeNames,
  /** Those that the resource still has. */
  knownNames: nullable(t.jsonb<readonly string[]>()),
  /** Empty unless the client is public: its pages may then read answers (CORS). */
  redirectUris: applications.redirectUris,
  /** Whether the client, if it is another, may still get tokens for the application. */
  isAllowed: t.boolean,
  /** The ID of the client, if it is another and restricted itself. */
  restrictedClientId: nullable(t.uuid),
  /** The profile of the user: that of a session is as old as the session. */
  ...{ email: users.email, name: users.name, profileImage: users.profileImage },
  /** Whether the user has proved to have the address. */
  isEmailVerified: t.boolean,
  /** Those that the application sees. */
  attributes: users.attributes,
  preferredUsername: nullable(t.text),
};

export type LiveGrant = RowOfType<typeof GRANT>;

const AGES = { maxAgeMs: 5_000, refreshAgeMs: 2_500 };

/** Finds live grants. Answers are at most 5 seconds old, but see at once what this replica has ended. */
export class LiveGrants {
  readonly #sessions: LiveSessions;
  readonly #cache: RevalidatingCache<LiveGrant>;

  /**
   * `run` has no deadline: several callers share one read, and their deadlines differ. `allowsClient` says whether the
   * settings allow a client ID.
   */
  constructor(run: Run, sessions: LiveSessions, allowsClient: (clientId: string) => boolean) {
    this.#sessions = sessions;
    this.#cache = createApplicationCache(async (applicationId, grantIds) => {
      const rows = await run(selectGrants, { applicationId, grantIds });
      const check = async (grant: LiveGrant) => {
        const isAllowed = grant.isAllowed && allowsClient(grant.clientId) && (await mayEnterClient(run, grant));
        return { ...grant, isAllowed };
      };
      return new Map(await Promise.all(rows.map(async ({ id, ...grant }) => [id, await check(grant)] as const)));
    });
  }

  /** Forgets every value. */
  clear(): void {
    this.#cache.clear();
  }

  /** Counts how many grants were cached, and how many had to be read. */
  get lookUps() {
    return this.#cache.lookUps;
  }

  /** Returns the grant unless something has ended it. It may have expired. The IDs are UUIDs in lower case. */
  async find(applicationId: string, grantId: string): Promise<LiveGrant | undefined> {
    const key = `${applicationId}/${grantId}`;
    const found = await this.#cache.get(key, AGES);
    if (!found || this.#sessions.isCurrent(found.value.userId, found.readAt)) return found?.value;
    return this.read(applicationId, grantId);
  }

  /** Reads the grant again, although an answer is cached. */
  async read(applicationId: string, grantId: string): Promise<LiveGrant | undefined> {
    return (await this.#cache.read(`${applicationId}/${grantId}`))?.value;
  }
}

/** A loss of the access to the resource ends the grant. One to the client only keeps its tokens from being used. */
async function mayEnterClient(run: Run, { restrictedClientId, userId }: LiveGrant): Promise<boolean> {
  if (restrictedClientId === null) return true;
  return (
    (await findAccess({ run, now: new Date() }, { ...NOTHING_PROVED, applicationId: restrictedClientId, userId })) ===
    true
  );
}

const selectGrants = statement('select_live_oidc_grants', { ...GRANT, id: oidcGrants.id })`
  select granted.id, granted.user_id, granted.sid, granted.assurance, granted.rotation, granted.authenticated_at, granted.expires_at,
    coalesce(granted.client_id, a.client_id) as client_id, granted.scope_names,
    case when granted.client_id is not null then a.resource_uri end as resource_uri,
    case when granted.scope_names is not null then jsonb_path_query_array(a.resource_scopes, '$[*].name') end as known_names,
    granted.client_id is null or case when granted.client_name is not null then a.allow_metadata_clients
      else granted.client_id = any(a.machine_client_ids) and c.open_id_connect is true and c.deleted_at is null
      end and (a.resource_uri_changed_at is null or granted.created_at > a.resource_uri_changed_at) as is_allowed,
    case when c.restrict_access then c.id end as restricted_client_id,
    case when a.public_client and granted.client_id is null then a.redirect_uris else '{}' end as redirect_uris,
    users.email, users.name, users.profile_image, users.email_verified_at is not null as is_email_verified,
    case when granted.client_name is null then ${shownAttributes(sql`users.attributes`, sql`nullif(a.attribute_claims, '{}')`)}
      end as attributes,
    ${preferredUsername(sql`users.attributes`)} as preferred_username
  from oidc_grants granted join users on users.id = granted.user_id join applications a on a.id = granted.application_id
    left join applications c on c.client_id = granted.client_id
  where granted.application_id = ${p.uuid('applicationId')} and granted.id = ${anyOf(p.uuids('grantIds'))} and ${isActiveUser}
    and a.deleted_at is null and a.open_id_connect and granted.authenticated_at > ${latestCutoff(sql`granted.user_id`)}`;
