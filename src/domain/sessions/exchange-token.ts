import { type RowOfType, statement } from '../../database/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, textOfBytes, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, type HasMessages } from '../outbox/insert-message.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { InvalidTokenError } from '../tokens/verify-token.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { FOUND_SESSION, findOrBegin } from './find-or-begin-session.ts';
import { endLateSession } from './late-sessions.ts';
import { type BegunSession, newSession, type Peer } from './session.ts';
import { findSessionOrigin, ORIGINS, UNKNOWN_ORIGIN } from './session-origin.ts';
import { updateSignIn } from './update-sign-in.ts';

const rules = { authToken: textOfBytes(8192) };

interface ExchangeParts {
  readonly tokens: AuthTokens;
  readonly sessionMaxAgeSeconds: number;
  readonly isOnCitus: boolean;
  /** Applications known to have a webhook for new sessions or users: they try the slower statement first. */
  readonly subscribed?: Set<string>;
}

/**
 * Returns the newest live session of the user, or begins one. A token of a later sign-in makes the session one of it.
 *
 * @throws ServiceError `Invalid or expired token`, also for one from before a cut-off; `User not found`
 */
export async function exchangeToken(
  call: ApplicationCall,
  { tokens, sessionMaxAgeSeconds, isOnCitus, subscribed = new Set() }: ExchangeParts,
  peer: Peer,
  request: Unchecked<keyof typeof rules>,
): Promise<BegunSession> {
  const { application, run, now, onMessage, onWait } = call;
  const { authToken } = check(request, rules);
  const login = await tokens.verify(authToken, application.clientId, now, onWait);
  const maxAgeMs = (application.sessionMaxAgeSeconds ?? sessionMaxAgeSeconds) * 1_000;
  const latestEnd = new Date(login.authenticatedAt.getTime() + maxAgeMs);
  const parameters = { ...login, ...peer, ...newSession(call, latestEnd) };
  const source = isOnCitus ? 'parameters' : 'intent';
  let origin = UNKNOWN_ORIGIN;
  for (let notifies = subscribed.has(application.id); ; ) {
    const values = isOnCitus ? { ...parameters, ...origin } : parameters;
    const [found]: readonly FoundSession[] = notifies
      ? await run(findOrBeginSessionAndNotify[source], values)
      : await run(findOrBeginSession[source], values);
    if (!found) throw new ServiceError('USER_NOT_FOUND');
    const { isAccepted, isOutdated, session, notifiedIds = [] } = found;
    if (!isAccepted) throw new InvalidTokenError();
    if (isOutdated !== false && isOnCitus && !origin.isOriginKnown) {
      origin = await findSessionOrigin(call, parameters);
      continue;
    }
    if (isOutdated) await run(updateSignIn[source], { ...values, sessionId: session.id });
    // There is no session if a webhook subscribes to its message, or if a concurrent exchange has just begun it.
    if (isOutdated !== false) {
      notifies = true;
      continue;
    }
    announce(onMessage, { notifiedIds });
    if (notifiedIds.length > 0) subscribed.add(application.id);
    else if (session.id === parameters.id) subscribed.delete(application.id);
    const late = session.id === parameters.id ? await endLateSession(call, { ...parameters, leaves: true }) : undefined;
    if (!late) return session;
    if (late.isOfErased) await removeIfErased(call, login.userId);
    // The token is refused now.
  }
}

type FoundSession = RowOfType<typeof FOUND_SESSION> & Partial<HasMessages>;

const findOrBeginSession = {
  intent: statement('find_or_begin_session', FOUND_SESSION)`${findOrBegin(ORIGINS.intent, 'unless asked')}`,
  parameters: statement(
    'find_or_begin_session_by_parameters',
    FOUND_SESSION,
  )`${findOrBegin(ORIGINS.parameters, 'unless asked')}`,
};
const NOTIFIES = { ...FOUND_SESSION, ...HAS_MESSAGES };
const findOrBeginSessionAndNotify = {
  intent: statement('find_or_begin_session_and_notify', NOTIFIES)`${findOrBegin(ORIGINS.intent, 'yes')}`,
  parameters: statement('find_or_begin_session_by_parameters_and_notify', NOTIFIES)`
    ${findOrBegin(ORIGINS.parameters, 'yes')}`,
};
