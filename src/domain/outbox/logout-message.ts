/** Messages for back-channel logout (OpenID Connect Back-Channel Logout 1.0). Delivery turns each into a logout token. */
import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import { LOGOUT } from './event-types.ts';
import { jsonObject, type Message } from './insert-message.ts';

/** The `data` of the payload of a logout message. */
export interface LogoutData {
  /** The user's ID. */
  readonly sub: string;
  /** The client ID. */
  readonly aud: string;
  /** The browser of the login. If absent, all logins of the user have ended. */
  readonly sid?: string;
}

/** The users who were logged out, in the column `user_id` of `gone`, and the application of each. */
interface Logout {
  readonly gone: SQL;
  readonly applicationId: SQL;
  /** Whether the application may be another than the calling one. */
  readonly isOfAnotherApplication?: true;
  /** Whether the statement stays on the server of the calling application: then clients of a resource hear nothing. */
  readonly staysHere?: boolean;
}

/** For the statements of one application where tables are distributed: they would otherwise need every server. */
export const HERE = { staysHere: true } as const;

/**
 * Returns the messages to the calling application that all logins of a user have ended.
 *
 * @param users a CTE with a column `user_id`
 */
export function loggedOut(users: SQL, where: Pick<Logout, 'staysHere'> = {}): Message[] {
  return toMessages({ gone: sql`${users} as gone`, applicationId: p.uuid('applicationId'), ...where });
}

/**
 * Returns the same messages, if the user has ever signed in to the application.
 *
 * @param users a CTE with a column `user_id`
 */
export function loggedOutIfKnown(users: SQL, where: Pick<Logout, 'staysHere'> = {}): Message[] {
  const gone = sql`${users} as gone join application_users as signed_in
    on signed_in.application_id = ${p.uuid('applicationId')} and signed_in.user_id = gone.user_id`;
  return toMessages({ gone, applicationId: p.uuid('applicationId'), ...where });
}

/**
 * Returns these messages for the application of each session.
 *
 * @param sessions a CTE with columns `application_id` and `user_id`
 */
export function loggedOutOfSessions(sessions: SQL): Message[] {
  return toMessages({
    gone: sql`${sessions} as gone`,
    applicationId: sql`gone.application_id`,
    isOfAnotherApplication: true,
  });
}

/**
 * Returns these messages for each application to which the user has ever signed in.
 *
 * @param users a CTE with a column `id`
 */
export function loggedOutEverywhere(users: SQL): Message[] {
  const gone = sql`(select id as user_id from ${users}) as gone
    join application_users as signed_in on signed_in.user_id = gone.user_id`;
  return toMessages({ gone, applicationId: sql`signed_in.application_id`, isOfAnotherApplication: true });
}

/**
 * Returns the messages to the calling application, and to its registered clients, about each browser whose login has
 * ended.
 *
 * @param grants a CTE with columns `user_id`, `sid` and `client_id`
 */
export function loggedOutOfBrowsers(grants: SQL): Message[] {
  const gone = sql`${grants} as gone`;
  return [toMessage({ gone, applicationId: p.uuid('applicationId') }, sql`gone.sid`), toClientMessage(grants)];
}

/**
 * Returns the message to the client of a resource about each browser with a grant of its own. It finds its login by the
 * `sid` of its ID token, which it alone has.
 *
 * @param grants the same
 */
function toClientMessage(grants: SQL): Message {
  const data = jsonObject({ sub: sql`gone.user_id`, aud: sql`client.client_id`, sid: sql`gone.sid` });
  const from = sql`${grants} as gone join applications client on client.client_id = gone.client_id and ${isTold}`;
  return { type: LOGOUT, data, from, applicationId: sql`client.id`, part: sql`gone.sid` };
}

/** The condition that the application `client` has an endpoint for logouts. */
const isTold = sql`client.deleted_at is null and client.open_id_connect and client.backchannel_logout_uri is not null`;

/**
 * Returns a message about the user, and one about each browser with a grant. Some clients find a login only by the
 * `sid` of its ID token, and others only by the user. Clients of a resource get one about each grant of their own.
 */
function toMessages(logout: Logout): Message[] {
  const { gone, applicationId } = logout;
  const withGrants = sql`${gone} join oidc_grants as g on g.application_id = ${applicationId}
    and g.user_id = gone.user_id and g.expires_at > ${p.instant('now')}`;
  // Equivalent: conjunct: no client has null for an ID
  const ofClients = sql`(select g.user_id, g.sid, g.client_id from ${withGrants} where g.client_id is not null)`;
  return [
    toMessage(logout),
    toMessage({ ...logout, gone: withGrants }, sql`g.sid`),
    ...(logout.staysHere ? [] : [toClientMessage(ofClients)]),
  ];
}

/** Sets no `userId`, so an erasure keeps the message: the ID of a user is no personal data. */
function toMessage({ gone, applicationId, isOfAnotherApplication }: Logout, sid?: SQL): Message {
  const data = jsonObject({ sub: sql`gone.user_id`, aud: sql`client.client_id`, ...(sid && { sid }) });
  return {
    type: LOGOUT,
    data,
    from: sql`${gone} join applications client on client.id = ${applicationId} and ${isTold}`,
    ...(isOfAnotherApplication && { applicationId }),
    ...(sid && { part: sid }),
  };
}
