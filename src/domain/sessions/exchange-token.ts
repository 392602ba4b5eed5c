import { type RowOfType, statement } from '../../database/template.ts';
import { ONE_FACTOR } from '../core/assurance.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { textOfBytes } from '../core/text-rules.ts';
import { check, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, type HasMessages } from '../outbox/insert-message.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { InvalidTokenError, type LoginClaims } from '../tokens/verify-token.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { FOUND_SESSION, findOrBegin } from './find-or-begin-session.ts';
import { formFor, inForms } from './forms.ts';
import { endLateSession } from './late-sessions.ts';
import { type BegunSession, newSession, type Peer } from './session.ts';
import { findMissingOrigin, ORIGINS, type SessionOrigin, UNKNOWN_ORIGIN } from './session-origin.ts';
import { updateSignIn } from './update-sign-in.ts';

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
 * @throws ServiceError `Invalid or expired token`, also for one from before a cut-off, of a user who may not enter a
 * restricted application, or of a sign-in that has shown less than the application demands; `User not found`
 */
export async function exchangeToken(
  call: ApplicationCall,
  { tokens, sessionMaxAgeSeconds, subscribed = new Set() }: ExchangeParts,
  peer: Peer,
  request: Unchecked<keyof typeof rules>,
): Promise<BegunSession> {
  const { application, now, onMessage, onWait } = call;
  const { authToken } = check(request, rules);
  const login = await tokens.verify(authToken, application.clientId, now, onWait);
  // A token of another issuer comes from no login that has checked it. The application may also demand more by now.
  if (login.assurance < (application.requiredAssurance ?? ONE_FACTOR)) throw new InvalidTokenError();
  const maxAgeMs = (application.sessionMaxAgeSeconds ?? sessionMaxAgeSeconds) * 1_000;
  const latestEnd = new Date(login.authenticatedAt.getTime() + maxAgeMs);
  const parameters = { ...login, ...peer, ...newSession(call, latestEnd), ...UNKNOWN_ORIGIN };
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
  const origin = await findMissingOrigin(call, given);
  const parameters = { ...given, ...origin };
  if (found.isOutdated) await run(updateSignIn, { ...parameters, sessionId: found.session.id });
  // There is no session if its origin was missing, if a webhook subscribes to its message, or if a concurrent exchange
  // has just begun it.
  return findSession(call, parameters, notifies || !origin);
}

type SoughtSession = LoginClaims & Peer & ReturnType<typeof newSession> & SessionOrigin;

type FoundSession = RowOfType<typeof FOUND_SESSION> & Partial<HasMessages>;

const FIND_OR_BEGIN = inForms(
  'find_or_begin_session',
  (name, parts, ifDistributed) => statement(name, FOUND_SESSION)`
    ${findOrBegin(ORIGINS.intent, 'unless asked', { parts })}`.ifDistributed`
    ${findOrBegin(ORIGINS.parameters, 'unless asked', { parts: ifDistributed })}`,
);

const FIND_OR_BEGIN_AND_NOTIFY = inForms(
  'find_or_begin_session_and_notify',
  (name, parts, ifDistributed) => statement(name, { ...FOUND_SESSION, ...HAS_MESSAGES })`
    ${findOrBegin(ORIGINS.intent, 'yes', { parts })}`.ifDistributed`
    ${findOrBegin(ORIGINS.parameters, 'yes', { parts: ifDistributed })}`,
);
