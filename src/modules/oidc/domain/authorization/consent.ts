/** What users let clients do that nobody has registered. */
import { type SQL, sql } from 'drizzle-orm';
import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { consents } from '../../../../database/schema/oidc-schema.ts';
import { applications, users } from '../../../../database/schema/schema.ts';
import { p, type RowOfType, statement, t } from '../../../../database/sql/template.ts';
import { auditEvent } from '../../../../domain/audit/audit-event.ts';
import type { Call } from '../../../../domain/core/call.ts';
import { liveSignIn, signInOf } from '../../../../domain/login/find-login-state.ts';
import { findLoginIntent, type LoginIntent } from '../../../../domain/login/login-intent.ts';
import { networkOf } from '../../../../domain/login/network.ts';
import { ONCE_A_DAY, takePermit } from '../../../../domain/login/rate-limit.ts';
import { type NoticeOrigin, noticeParameters, noticesOf } from '../../../../domain/notices/store-notice.ts';
import { isConsentAfterCutoff } from '../../../../domain/sessions/cutoffs.ts';
import { removeIfErased } from '../../../../domain/users/personal-data.ts';
import { OidcError } from '../oidc-error.ts';
import { presentScopes } from '../tokens/scope-names.ts';
import { digestBytes, type SealKeys } from '../tokens/sealed-bytes.ts';
import type { TokenKeys } from '../tokens/token-keys.ts';

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
  if (!intent) return undefined;
  const { forClient, clientName, userId, completedAt } = intent;
  if (forClient === null || clientName === null || !userId || !completedAt) return undefined;
  return { ...intent, forClient, clientName, userId, completedAt };
}

/** Returns what the client of the login asks for. @throws OidcError `consent_required` if the login is gone meanwhile */
export async function findAskedConsent({ run }: Call, { id }: Pick<AskingIntent, 'id'>): Promise<AskedConsent> {
  const [asked] = await run(selectAsked, { id });
  if (!asked) throw new OidcError('consent_required');
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

/** Lets the client have the code to which the user has consented before. Nothing changes once the sign-in has ended. */
export async function allowAgain({ run, now }: Call, intent: AskingIntent): Promise<void> {
  await run(markConsented, { ...signInOf(intent), id: intent.id, now });
}

/**
 * Lets the client have the code, and stores the consent, unless the sign-in has ended. The user gets a notice.
 *
 * @param address the IP address of the browser
 */
export async function allowClient(
  call: Call,
  { consent: keys }: Pick<TokenKeys, 'consent'>,
  intent: AskingIntent,
  asked: AskedConsent,
  address: string,
): Promise<void> {
  const { run, now } = call;
  const { id, applicationId, userId, forClient, clientName, locale } = intent;
  const [before] = await run(selectConsent, { applicationId, userId, forClient });
  const scopeNames = [...new Set([...(before?.scopeNames ?? []), ...namesOf(asked)])];
  const access = [userId, applicationId, forClient, networkOf(address), ...namesOf(asked)];
  await run(consent, {
    ...{ ...signInOf(intent), id, forClient, clientName, scopeNames, now },
    ...(await noticeOfAccess(call, keys, { applicationId, locale, access })),
    isRememberable: isRememberable(intent),
    noticeValue: `${clientName} (${new URL(forClient).hostname})`,
  });
  call.notices?.wake();
  await removeIfErased(call, userId);
}

/** Makes the code of the login worthless. */
export async function denyClient({ run, now }: Call, { id, applicationId }: AskingIntent): Promise<void> {
  await run(deny, { id, applicationId, now });
}

function namesOf({ scope, scopeNames }: AskedConsent): string[] {
  return presentScopes(scope, scopeNames ?? []).split(' ');
}

const selectAsked = statement('select_asked_consent', ASKED)`
  select i.scope::integer, i.scope_names, i.ask_consent, a.resource_scopes, u.email
  from login_intents i join applications a on a.id = i.application_id join users u on u.id = i.user_id
  where i.id = ${p.uuid('id')}`;

const selectConsent = statement('select_consent', { scopeNames: consents.scopeNames })`
  select scope_names from consents c where application_id = ${p.uuid('applicationId')}
    and user_id = ${p.uuid('userId')} and client_id = ${p.text('forClient')} and ${isConsentAfterCutoff}`;

const isAsking = sql`id = ${p.uuid('id')} and client_name is not null
    -- Equivalent: conjunct: says on which server the row is
    and application_id = ${p.uuid('applicationId')}
    and completed_at is not null and redeemed_at is null and expires_at > ${p.instant('now')}`;

const mark = (assignment: SQL, condition: SQL) => sql`
  update login_intents set ${assignment} where ${isAsking} and ${condition} returning user_id`;

const consented = mark(sql`consented_at = ${p.instant('now')}`, sql`consented_at is null and ${liveSignIn.isThere}`);

const markConsented = statement('mark_consented_intent')`
  with ${liveSignIn.cte}, changed as (${consented})
  select from changed`;

const audit = auditEvent({ resource: sql`user_id`, from: sql`changed` });

const consent = statement('consent_to_client')`
  with ${liveSignIn.cte}, changed as (${consented}), stored as (
    insert into consents (application_id, user_id, client_id, client_name, scope_names, created_at, authenticated_at)
    select ${p.uuid('applicationId')}, user_id, ${p.text('forClient')}, ${p.text('clientName')}, ${p.texts('scopeNames')},
      ${p.instant('now')}, ${p.instant('authenticatedAt')}
    from changed where ${p.boolean('isRememberable')}
    on conflict (application_id, user_id, client_id) do update set client_name = excluded.client_name,
      scope_names = excluded.scope_names, created_at = excluded.created_at, authenticated_at = excluded.authenticated_at
  ), ${audit}, ${noticesOf({
    kind: 'clientAllowed',
    from: sql`changed join users on users.id = changed.user_id`,
    userId: sql`users.id`,
    recipient: sql`users.email`,
    value: p.text('noticeValue'),
  })}
  select from changed`;

const deny = statement('deny_client')`
  with changed as (${mark(sql`redeemed_at = ${p.instant('now')}`, sql`true`)}), ${audit}
  select from changed`;

/**
 * Whether the user of a row of `oidc_grants` still consents to all that the grant allows at the resource. It compares the
 * application with the parameter: beside an OR, a distributed database would otherwise look for it on every shard.
 * Parameter: applicationId.
 */
export const isConsented = sql`exists (
    select 1 from consents c where c.application_id = ${p.uuid('applicationId')} and c.user_id = oidc_grants.user_id
      and c.client_id = oidc_grants.client_id and c.scope_names @> oidc_grants.scope_names
      and ${isConsentAfterCutoff})`;

/** Returns the parameters of `noticesOf`. At most one notice a day is stored about the same access of a user. */
export async function noticeOfAccess(
  call: Call,
  keys: SealKeys,
  { access, ...origin }: NoticeOrigin & { readonly access: readonly string[] },
) {
  const parameters = noticeParameters(call, origin);
  if (parameters.noticeLanguage === null) return parameters;
  const key = digestBytes(keys, Buffer.from(JSON.stringify(['notice of access', ...access])));
  // Whoever lets the same program in each morning would otherwise learn to ignore the e-mails.
  return (await takePermit(call, key, ONCE_A_DAY)) ? parameters : { ...parameters, noticeLanguage: null };
}
