import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { DEFAULT_IDLE_SECONDS } from '../../database/schema/schema.ts';
import { sessions } from '../../database/schema/session-schema.ts';
import { p, type RowOfType, t } from '../../database/sql/template.ts';
import { ONE_FACTOR } from '../core/assurance.ts';
import type { Application, ApplicationCall } from '../core/call.ts';
import type { SignInMethod } from '../tokens/verify-token.ts';
import { attributeParameter } from '../users/attributes.ts';
import type { Profile } from '../users/user.ts';
import { latestCutoffOfAllowed } from './cutoffs.ts';
import type { AttributesOf } from './forms.ts';

export const SESSION_LIFETIME_MS = DEFAULT_IDLE_SECONDS * 1_000;

/** Returns how long after its expiry a session can be renewed. */
function graceSecondsOf({ sessionIdleSeconds = DEFAULT_IDLE_SECONDS }: Application): number {
  return sessionIdleSeconds > DEFAULT_IDLE_SECONDS ? sessionIdleSeconds : 0;
}

/** Returns the parameters of a new session. It expires at `latestEnd` at the latest. */
export function newSession({ application, now }: ApplicationCall, latestEnd?: Date) {
  const id: string = randomUUID();
  const endsAt = Math.min(now.getTime() + SESSION_LIFETIME_MS, latestEnd?.getTime() ?? Number.POSITIVE_INFINITY);
  return {
    applicationId: application.id,
    id,
    now,
    expiresAt: new Date(endsAt),
    graceSeconds: graceSecondsOf(application),
    ...attributeParameter(application),
  };
}

/** The address and user agent of the caller, which a session records. */
export interface Peer {
  readonly ipAddress: string;
  readonly userAgent: string;
}

/** A session, with the user's profile as it was when the session began. */
export interface BegunSession extends Profile {
  readonly id: string;
  readonly userId: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** When the user last signed in. */
  readonly authTime: Date;
  readonly method: SignInMethod;
  /** The level of that sign-in. */
  readonly assurance: number;
}

const {
  userId,
  email,
  name,
  profileImage,
  walletAddress,
  ipAddress,
  userAgent,
  createdAt,
  expiresAt,
  onBehalfBy,
  attributes,
  assurance,
} = sessions;

export const sessionColumns = {
  ...{ userId, email, name, profileImage, walletAddress, ipAddress, userAgent, createdAt, expiresAt },
  method: t.textOf<SignInMethod>(),
  assurance,
  onBehalfBy,
  attributes,
  authTime: t.instant,
  /** The sign-in that cut-offs end. */
  signedInAt: t.instant,
  groups: t.json<readonly string[]>(),
};

/** Returns the instant of the last sign-in of a session: its column `auth_time`. */
export const lastSignIn = (session: 'sessions' | 's') =>
  sql.raw(`greatest(${session}.authenticated_at, ${session}.last_authenticated_at)`);

/** A live session, without its ID, which is a bearer secret. */
export type Session = RowOfType<typeof sessionColumns>;

/** The settings on which sessions depend. */
export interface SessionSettings {
  /** How long sessions can be renewed after the sign-in, unless the application has a limit of its own. */
  readonly sessionMaxAgeSeconds: number;
}

/** Returns the parameters of `renewableSession`. */
export function parametersOf(
  { application, now }: Pick<ApplicationCall, 'application' | 'now'>,
  { sessionMaxAgeSeconds }: SessionSettings,
) {
  const graceSeconds = graceSecondsOf(application);
  return {
    applicationId: application.id,
    now,
    graceSeconds,
    ...attributeParameter(application),
    renewableFrom: new Date(now.getTime() - graceSeconds * 1_000),
    maxAgeSeconds: application.sessionMaxAgeSeconds ?? sessionMaxAgeSeconds,
    requiredAssurance: application.requiredAssurance ?? ONE_FACTOR,
  };
}

/** Returns when a session reaches its maximum age, from its first and its last sign-in. Parameter: maxAgeSeconds. */
export function latestEnd(authenticatedAt: SQL, lastAuthenticatedAt: SQL): SQL {
  return sql`greatest(${authenticatedAt}, ${lastAuthenticatedAt}) + ${p.integer('maxAgeSeconds')} * interval '1 second'`;
}

/**
 * Selects the session with the given ID and its user, if it is live or can be renewed: no cut-off has ended it, and the
 * user can sign in. An expired session can be renewed only while the user's newest session has a row in `sessions`,
 * which revocations delete. Parameters: all of `parametersOf`, and sessionId.
 *
 * @param condition more, with `and` before it: `s` is the newest session of the user, if there is one
 */
export const renewableSession = (attributesOf: AttributesOf, condition = sql``) => sql`
  select i.user_id, i.authenticated_at, greatest(i.authenticated_at, ${lastSignIn('s')}) as last_sign_in_at, u.email, u.name, u.profile_image, u.wallet_address,
    ${attributesOf(sql`u.attributes`)} as attributes
  from session_ids i join users u on u.id = i.user_id
    left join sessions s on s.application_id = i.application_id and s.user_id = i.user_id
  where i.application_id = ${p.uuid('applicationId')} and i.id = ${p.uuid('sessionId')}
    and u.deleted_at is null and u.deactivated_at is null
    and i.authenticated_at > ${latestCutoffOfAllowed(sql`i.user_id`)} ${condition}
    and (i.expires_at > ${p.instant('now')} or i.expires_at > ${p.instant('renewableFrom')}
      and i.authenticated_at > coalesce(s.cutoff_at, '-infinity') and ${latestEnd(
        sql`i.authenticated_at`,
        // The last sign-in of a later chain does not prolong this chain.
        sql`case when s.authenticated_at = i.authenticated_at then s.last_authenticated_at end`,
      )} > ${p.instant('now')} and s.user_id is not null)`;
