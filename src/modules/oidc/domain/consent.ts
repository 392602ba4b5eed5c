/** What users let clients do that nobody has registered. */
import { type SQL, sql } from 'drizzle-orm';
import { loginIntents } from '../../../database/intent-schema.ts';
import { consents } from '../../../database/oidc-schema.ts';
import { applications, users } from '../../../database/schema.ts';
import { p, type RowOfType, statement, t } from '../../../database/template.ts';
import { auditEvent } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { findLoginIntent, type LoginIntent } from '../../../domain/login/login-intent.ts';
import { removeIfErased } from '../../../domain/users/personal-data.ts';
import { presentScopes } from './scope-names.ts';

const ASKED = {
  /** Bits, as in `scope.ts`. */
  scope: t.integer,
  scopeNames: loginIntents.scopeNames,
  askConsent: loginIntents.askConsent,
  resourceScopes: applications.resourceScopes,
  email: users.email,
};

export type AskedConsent = RowOfType<typeof ASKED>;

/** A completed login of a client that nobody has registered. */
export interface AskingIntent extends LoginIntent {
  readonly completedAt: Date;
  readonly userId: string;
  readonly forClient: string;
  readonly clientName: string;
}

export async function findAskingIntent(call: Call, id: string): Promise<AskingIntent | undefined> {
  const intent = await findLoginIntent(call, id);
  const { forClient = null, clientName = null, userId, completedAt } = intent ?? {};
  if (!intent || forClient === null || clientName === null || !userId || !completedAt) return undefined;
  return { ...intent, forClient, clientName, userId, completedAt };
}

/** Returns what the client of the login asks for. */
export async function findAskedConsent({ run }: Call, { id }: AskingIntent): Promise<AskedConsent | undefined> {
  const [asked] = await run(selectAsked, { id });
  return asked;
}

/** Other programs can claim any other redirect URI, so their users are asked each time. */
export function isRememberable({ redirectUri }: Pick<AskingIntent, 'redirectUri'>): boolean {
  return redirectUri.startsWith('https:');
}

/** Returns whether the user has consented before to all that the client asks for, and need not be asked again. */
export async function isRemembered({ run }: Call, intent: AskingIntent, asked: AskedConsent): Promise<boolean> {
  if (asked.askConsent || !isRememberable(intent)) return false;
  const { applicationId, userId, forClient } = intent;
  const [found] = await run(selectConsent, { applicationId, userId, forClient });
  return found !== undefined && namesOf(asked).every((name) => found.scopeNames.includes(name));
}

/** Lets the client have the code that the user has consented to, now or before. */
export async function allowClient(
  call: Call,
  intent: AskingIntent,
  asked: AskedConsent,
  { isRemembered }: { readonly isRemembered: boolean },
): Promise<void> {
  const { run, now } = call;
  const { id, applicationId, userId, forClient, clientName } = intent;
  if (!isRemembered && isRememberable(intent)) {
    const [before] = await run(selectConsent, { applicationId, userId, forClient });
    const scopeNames = [...new Set([...(before?.scopeNames ?? []), ...namesOf(asked)])];
    await run(upsertConsent, { applicationId, userId, forClient, clientName, scopeNames, now });
    await removeIfErased(call, userId);
  }
  await run(isRemembered ? markConsented : consent, { id, applicationId, now });
}

/** Makes the code of the login worthless. */
export async function denyClient({ run, now }: Call, { id, applicationId }: AskingIntent): Promise<void> {
  await run(deny, { id, applicationId, now });
}

function namesOf({ scope, scopeNames }: AskedConsent): string[] {
  return presentScopes(scope, scopeNames ?? [])
    .split(' ')
    .filter(Boolean);
}

const selectAsked = statement('select_asked_consent', ASKED)`
  select i.scope::integer, i.scope_names, i.ask_consent, a.resource_scopes, u.email
  from login_intents i join applications a on a.id = i.application_id join users u on u.id = i.user_id
  where i.id = ${p.uuid('id')}`;

const selectConsent = statement('select_consent', { scopeNames: consents.scopeNames })`
  select scope_names from consents where application_id = ${p.uuid('applicationId')}
    and user_id = ${p.uuid('userId')} and client_id = ${p.text('forClient')}`;

const upsertConsent = statement('upsert_consent')`
  insert into consents (application_id, user_id, client_id, client_name, scope_names, created_at)
  values (${p.uuid('applicationId')}, ${p.uuid('userId')}, ${p.text('forClient')}, ${p.text('clientName')},
    ${p.texts('scopeNames')}, ${p.instant('now')})
  on conflict (application_id, user_id, client_id) do update set client_name = excluded.client_name,
    scope_names = excluded.scope_names, created_at = excluded.created_at`;

const isAsking = sql`id = ${p.uuid('id')} and application_id = ${p.uuid('applicationId')} and client_name is not null
    and completed_at is not null and redeemed_at is null and expires_at > ${p.instant('now')}`;

const mark = (assignment: SQL, condition: SQL) => sql`
  update login_intents set ${assignment} where ${isAsking} and ${condition} returning user_id`;

const consented = mark(sql`consented_at = ${p.instant('now')}`, sql`consented_at is null`);

const markConsented = statement('mark_consented_intent')`${consented}`;

const audited = (change: SQL) => sql`
  with changed as (${change}), ${auditEvent({ resource: sql`user_id`, from: sql`changed` })}
  select from changed`;

const consent = statement('consent_to_client')`${audited(consented)}`;

const deny = statement('deny_client')`${audited(mark(sql`redeemed_at = ${p.instant('now')}`, sql`true`))}`;

/**
 * Whether the user of a row of `oidc_grants` still consents to all that the grant allows at the resource. It compares the
 * application with the parameter: beside an OR, a distributed database would otherwise look for it on every shard.
 * Parameter: applicationId.
 */
export const isConsented = sql`exists (
    select 1 from consents c where c.application_id = ${p.uuid('applicationId')} and c.user_id = oidc_grants.user_id
      and c.client_id = oidc_grants.client_id and c.scope_names @> coalesce(oidc_grants.scope_names, '{}'))`;
