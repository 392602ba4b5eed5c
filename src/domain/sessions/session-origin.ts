/** Where a user signed in from. The intent of the login has it, and the session copies it. */
import { type SQL, sql } from 'drizzle-orm';
import { loginIntents } from '../../database/schema/intent-schema.ts';
import { p, type RowType, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';

/** Address and user agent are null if the page of the sign-in has not passed them on. */
export interface SessionOrigin {
  readonly originAddress: string | null;
  readonly originUserAgent: string | null;
  /** The digest of the browser. Null if it was another page's. */
  readonly originBrowser: Buffer | null;
  /** Who has signed in on behalf of the user. */
  readonly onBehalfBy: string | null;
}

export const UNKNOWN_ORIGIN: SessionOrigin = {
  originAddress: null,
  originUserAgent: null,
  originBrowser: null,
  onBehalfBy: null,
};

export type OriginColumns = Readonly<Record<keyof SessionOrigin, SQL>>;

/** Parameters: those of `SessionOrigin`. */
export const GIVEN_ORIGIN: OriginColumns = {
  originAddress: p.text('originAddress'),
  originUserAgent: p.text('originUserAgent'),
  originBrowser: p.bytes('originBrowser'),
  onBehalfBy: p.text('onBehalfBy'),
};

/** Of the intent `i`. */
export const ORIGIN_OF_INTENT: OriginColumns = {
  originAddress: sql`i.ip_address`,
  originUserAgent: sql`i.user_agent`,
  originBrowser: sql`i.browser_digest`,
  onBehalfBy: sql`i.on_behalf_by`,
};

/** The condition that `i` is the intent of the sign-in. Parameters: applicationId, loginIntentId, userId. */
export const isIntentOfToken = sql`i.application_id = ${p.uuid('applicationId')} and i.id = ${p.uuid('loginIntentId')}
  and i.user_id = ${p.uuid('userId')}`;

/**
 * Creates a statement of an exchange. It learns the origin of the session from the intent, or by parameters where the
 * intent may be on another server: to read it first costs an exchange half as much again.
 */
export function byOrigin<const Type extends RowType>(
  name: string,
  type: Type,
  build: (source: 'intent' | 'parameters') => SQL,
) {
  return statement(name, type)`${build('intent')}`.ifDistributed`${build('parameters')}`;
}

/** Reads the origin, unless the statements of sessions join it. An intent of another issuer has none. */
export async function findOrigin(
  { run }: Call,
  parameters: Readonly<Record<'applicationId' | 'loginIntentId' | 'userId', string>>,
): Promise<SessionOrigin> {
  const rows = await run(selectOrigin, parameters);
  return { ...UNKNOWN_ORIGIN, ...rows?.[0] };
}

const selectOrigin = statement('select_session_origin', {
  originAddress: loginIntents.ipAddress,
  originUserAgent: loginIntents.userAgent,
  originBrowser: loginIntents.browserDigest,
  onBehalfBy: loginIntents.onBehalfBy,
}).ifDistributed`
  select i.ip_address as origin_address, i.user_agent as origin_user_agent, i.browser_digest as origin_browser,
    i.on_behalf_by
  from login_intents i where ${isIntentOfToken}`;

/**
 * Records a later sign-in in a session, unless the session has ended. Cut-offs still apply to the first sign-in,
 * because they must also end session IDs from before the later sign-in.
 */
export const updateSignIn = byOrigin('update_sign_in', {}, update);

/** The same with the origin of a grant, whose intent may have expired. */
export const updateSignInOfGrant = statement('update_sign_in_by_parameters')`${update('parameters')}`;

function update(source: 'intent' | 'parameters'): SQL {
  const originOf = {
    intent: (name: keyof OriginColumns) =>
      sql`(select ${ORIGIN_OF_INTENT[name]} from login_intents i where ${isIntentOfToken})`,
    parameters: (name: keyof OriginColumns) => GIVEN_ORIGIN[name],
  }[source];
  return sql`
    with updated as (
      update sessions set last_authenticated_at = ${p.instant('authenticatedAt')}, method = ${p.text('method')},
        assurance = ${p.integer('assurance')},
        ip_address = coalesce(${originOf('originAddress')}, ip_address), user_agent = coalesce(${originOf('originUserAgent')}, user_agent),
        browser_digest = ${originOf('originBrowser')}, on_behalf_by = ${originOf('onBehalfBy')}
      where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')}
        and id = ${p.uuid('sessionId')}
        and greatest(authenticated_at, last_authenticated_at) < ${p.instant('authenticatedAt')}
      returning user_id
    ), ${auditEvent({ resource: sql`user_id`, from: sql`updated` })}
    select from updated`;
}
