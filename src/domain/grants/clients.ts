/** Clients of a resource that act for users: those that have live grants, or a consent. */
import { sql } from 'drizzle-orm';
import { consents, oidcGrants } from '../../database/schema/oidc-schema.ts';
import { applications } from '../../database/schema/schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { labelOf } from '../core/application-label.ts';
import type { Call } from '../core/call.ts';
import { isConsentAfterCutoff, isGrantAfterEveryCutoff, latestCutoff } from '../sessions/cutoffs.ts';
import { endGrantsOfClient } from './end-grants.ts';

const USED = {
  applicationId: oidcGrants.applicationId,
  applicationName: applications.name,
  clientId: consents.clientId,
  /** The name in the client's metadata. */
  clientName: consents.clientName,
  /** When it last got a token. */
  usedAt: t.instant,
};

export type UsedClient = RowOfType<typeof USED>;

/** Returns the clients that nobody has registered and that may act for the user, the last used first. */
export async function listUserClients({ run, now }: Call, userId: string): Promise<readonly UsedClient[]> {
  const [granted, consented] = await Promise.all([
    run(selectGranted, { userId, now }),
    run(selectConsented, { userId }),
  ]);
  const isSame = (one: UsedClient) => (other: UsedClient) =>
    one.applicationId === other.applicationId && one.clientId === other.clientId;
  const unused = consented.filter((consent) => !granted.some(isSame(consent)));
  return [...granted, ...unused].sort((one, other) => other.usedAt.getTime() - one.usedAt.getTime());
}

interface Client {
  readonly applicationId: string;
  readonly clientId: string;
  /** Null for all users. */
  readonly userId: string | null;
}

/** Ends what a client may do. It has to ask for consent again. */
export async function endClient(call: Call, client: Client): Promise<void> {
  // First, so that no refresh comes between.
  await call.run(deleteConsents, { ...client });
  await endGrantsOfClient(call, client);
}

const selectGranted = statement('select_granted_clients', USED)`
  with granted as (
    select application_id, client_id, max(client_name) as client_name, max(coalesce(rotated_at, created_at)) as used_at
    from oidc_grants
    where user_id = ${p.uuid('userId')} and client_name is not null and expires_at > ${p.instant('now')}
      and ${isGrantAfterEveryCutoff}
    group by application_id, client_id
  )
  select application_id, ${labelOf('a')} as application_name, g.client_id, client_name, used_at
  from granted g join applications a on a.id = application_id and a.deleted_at is null limit 500`;

const selectConsented = statement('select_consents_of_user', USED)`
  select c.application_id, ${labelOf('a')} as application_name, c.client_id, c.client_name, c.created_at as used_at
  from consents c join applications a on a.id = c.application_id and a.deleted_at is null
  where c.user_id = ${p.uuid('userId')} and ${isConsentAfterCutoff} limit 500`;

const deleteConsents = statement('delete_consents')`
  delete from consents where application_id = ${p.uuid('applicationId')} and client_id = ${p.text('clientId')}
    and (${p.uuid('userId')} is null or user_id = ${p.uuid('userId')})`;

const COUNTED = { clientId: consents.clientId, clientName: nullable(t.text), grants: t.integer };

/** Returns the clients of a resource with the number of their live grants, the most used first. */
export async function listResourceClients({ run, now }: Call, applicationId: string) {
  return run(selectCounted, { applicationId, now });
}

const selectCounted = statement('select_clients_of_resource', COUNTED)`
  select client_id, max(client_name) as client_name, count(*)::integer as grants from oidc_grants
  where application_id = ${p.uuid('applicationId')} and client_id is not null and expires_at > ${p.instant('now')}
    and authenticated_at > ${latestCutoff(sql`oidc_grants.user_id`)}
  group by client_id order by count(*) desc, client_id limit 100`;

/** Returns what clients may do, for the export of the user's data. */
export async function exportConsents({ run }: Call, userId: string) {
  return { consents: await run(selectExport, { userId }) };
}

const { applicationId, clientId, clientName, scopeNames, createdAt } = consents;
const selectExport = statement('export_consents', { applicationId, clientId, clientName, scopeNames, createdAt })`
  select application_id, client_id, client_name, scope_names, created_at from consents
  where user_id = ${p.uuid('userId')} order by created_at`;
