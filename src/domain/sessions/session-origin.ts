/** Where a user signed in from. The intent of the login has it, and the session copies it. */
import { type SQL, sql } from 'drizzle-orm';
import { loginIntents } from '../../database/schema/intent-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
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

const UNKNOWN_ORIGIN: SessionOrigin = {
  originAddress: null,
  originUserAgent: null,
  originBrowser: null,
  onBehalfBy: null,
};

/** The condition that `i` is the intent of the sign-in. Parameters: applicationId, loginIntentId, userId. */
export const isIntentOfToken = sql`i.application_id = ${p.uuid('applicationId')} and i.id = ${p.uuid('loginIntentId')}
  and i.user_id = ${p.uuid('userId')}`;

const given = {
  address: p.text('originAddress'),
  userAgent: p.text('originUserAgent'),
  browser: p.bytes('originBrowser'),
  onBehalfBy: p.text('onBehalfBy'),
};

/** Where the statement of a session that begins has its origin. */
export interface OriginColumns {
  readonly address: SQL;
  readonly userAgent: SQL;
  readonly browser: SQL;
  readonly onBehalfBy: SQL;
  /** Joins what has them. */
  readonly join: SQL;
}

/**
 * How a statement learns the origin of a session that begins. `intent` joins the intent. Parameters: applicationId,
 * loginIntentId, userId. `parameters` is for where the intent may be on another server: those of `SessionOrigin`.
 */
export const ORIGINS: Readonly<Record<'intent' | 'parameters', OriginColumns>> = {
  intent: {
    address: sql`i.ip_address`,
    userAgent: sql`i.user_agent`,
    browser: sql`i.browser_digest`,
    onBehalfBy: sql`i.on_behalf_by`,
    join: sql`left join login_intents i on ${isIntentOfToken}`,
  },
  parameters: { ...given, join: sql`` },
};

/** The same where nothing can be joined. */
export const SELECTED_ORIGINS = {
  intent: {
    address: sql`(select i.ip_address from login_intents i where ${isIntentOfToken})`,
    userAgent: sql`(select i.user_agent from login_intents i where ${isIntentOfToken})`,
    browser: sql`(select i.browser_digest from login_intents i where ${isIntentOfToken})`,
    onBehalfBy: sql`(select i.on_behalf_by from login_intents i where ${isIntentOfToken})`,
  },
  parameters: given,
};

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
