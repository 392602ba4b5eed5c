import { type SQL, sql } from 'drizzle-orm';
import { p, type RowOfType, type RowType } from '../../database/sql/template.ts';
import { ONE_FACTOR } from '../core/assurance.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, textOfBytes, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, type HasMessages } from '../outbox/insert-message.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { InvalidTokenError, type LoginClaims } from '../tokens/verify-token.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { isStillHere } from './browser-cutoffs.ts';
import { FOUND_SESSION, findOrBegin, GIVEN_SIGN_IN } from './find-or-begin-session.ts';
import { formFor, inForms } from './forms.ts';
import { endLateSession } from './late-sessions.ts';
import { type BegunSession, newSession, type Peer } from './session.ts';
import {
  byOrigin,
  findOrigin,
  isIntentOfToken,
  ORIGIN_OF_INTENT,
  type SessionOrigin,
  updateSignIn,
} from './session-origin.ts';

const rules = { authToken: textOfBytes(8192) };

interface ExchangeParts {
  readonly tokens: AuthTokens;
  readonly sessionMaxAgeSeconds: number;
  /** Applications known to have a webhook for new sessions or users: they try the slower statement first. */
  readonly subscribed?: Set<string>;
}

/**
 * Returns the newest live session of the user, or begins one. A token of a later sign-in makes the session one of it.
 *
 * @throws ServiceError `Invalid or expired token`, also for one from before a cut-off, or from a browser that the user has
 * signed out since, of a user who may not enter a restricted application, or of a sign-in that has shown less than the
 * application demands; `User not found`
 */
export async function exchangeToken(
  call: ApplicationCall,
  { tokens, sessionMaxAgeSeconds, subscribed = new Set() }: ExchangeParts,
  peer: Peer,
  request: Unchecked<keyof typeof rules>,
): Promise<BegunSession> {
  const { application, now, onMessage } = call;
  const { authToken } = check(request, rules);
  const login = tokens.verify(authToken, application.clientId, now);
  // The application may demand more by now.
  // Equivalent: default: no sign-in has shown less
  if (login.assurance < (application.requiredAssurance ?? ONE_FACTOR)) throw new InvalidTokenError();
  const maxAgeMs = (application.sessionMaxAgeSeconds ?? sessionMaxAgeSeconds) * 1_000;
  const latestEnd = new Date(login.authenticatedAt.getTime() + maxAgeMs);
  const session = newSession(call, latestEnd);
  const parameters = { ...login, ...peer, ...session, ...(await findOrigin(call, { ...session, ...login })) };
  for (;;) {
    const { session, notifiedIds = [] } = await findSession(call, parameters, subscribed.has(application.id));
    announce(onMessage, { notifiedIds });
    if (notifiedIds.length > 0) subscribed.add(application.id);
    else if (session.id === parameters.id) subscribed.delete(application.id);
    const late =
      session.id === parameters.id ? await endLateSession(call, { ...parameters, mayRemoveUser: true }) : undefined;
    if (!late) return session;
    if (late.isOfErased) await removeIfErased(call, login.userId);
    // The token is refused now.
  }
}

/** Tries until there is a session of the sign-in or a later one, with messages for webhooks once that is needed. */
async function findSession(call: ApplicationCall, given: SoughtSession, notifies: boolean): Promise<FoundSession> {
  const { run } = call;
  const [found] = await run(formFor(notifies ? FIND_OR_BEGIN_AND_NOTIFY : FIND_OR_BEGIN, call.application), {
    ...given,
  });
  if (!found) throw new ServiceError('USER_NOT_FOUND');
  if (!found.isAccepted) throw new InvalidTokenError();
  if (found.isOutdated === false) return found;
  if (found.isOutdated) await run(updateSignIn, { ...given, sessionId: found.session.id });
  // There is no session if a webhook subscribes to its message, or if a concurrent exchange has just begun it.
  return findSession(call, given, true);
}

type SoughtSession = LoginClaims & Peer & ReturnType<typeof newSession> & SessionOrigin;

type FoundSession = RowOfType<typeof FOUND_SESSION> & Partial<HasMessages>;

const isSignedOut = (browserDigest: SQL) => sql`not (${isStillHere(p.instant('authenticatedAt'), { browserDigest })})`;

/** Whether the user has signed out in the browser of the token since, by how the statement learns its origin. */
const SIGNED_OUT = {
  intent: sql`exists (
      select 1 from login_intents i where ${isIntentOfToken} and ${isSignedOut(sql`i.browser_digest`)})`,
  parameters: isSignedOut(p.bytes('originBrowser')),
};

const SIGN_INS = {
  intent: { ...GIVEN_SIGN_IN, ...ORIGIN_OF_INTENT, join: sql`left join login_intents i on ${isIntentOfToken}` },
  parameters: GIVEN_SIGN_IN,
};

/** A token that no application has exchanged before the sign-out is cut off for ever, as an authorization code is. */
const exchange = <const Type extends RowType>(name: string, type: Type, notifies: 'yes' | 'unless asked') =>
  inForms(name, (name, attributesOf) =>
    byOrigin(name, type, (source) =>
      findOrBegin({ signIn: SIGN_INS[source], notifies, attributesOf }, SIGNED_OUT[source]),
    ),
  );

const FIND_OR_BEGIN = exchange('find_or_begin_session', FOUND_SESSION, 'unless asked');
const FIND_OR_BEGIN_AND_NOTIFY = exchange(
  'find_or_begin_session_and_notify',
  { ...FOUND_SESSION, ...HAS_MESSAGES },
  'yes',
);
