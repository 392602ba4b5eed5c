import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { loginIntents } from '../../database/schema.ts';
import { isRegistered } from '../applications/redirect-uri.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, text, type Unchecked } from '../validation.ts';

/** Interface, "Limits": a login intent lives 30 minutes. */
const INTENT_LIFETIME_MS = 30 * 60_000;

const rules = {
  clientId: text({ max: 255 }),
  redirectUri: text({ max: 2048 }),
  state: text({ max: 500 }),
};

/** Takes a login intent's ID, and returns the URL to send the user to. */
export type AuthPageLink = (loginIntentId: string) => string;

/** The page's URL with exactly one `intent` in its query, and all else with the same meaning; made once, not for each. */
export function createAuthPageLink(authPageUrl: string): AuthPageLink {
  const url = new URL(authPageUrl);
  const mark = randomUUID();
  url.searchParams.set('intent', mark);
  const [before, after] = url.href.split(mark);
  return (loginIntentId) => `${before}${loginIntentId}${after}`;
}

/**
 * Records a login intent and returns the URL to send the user to. Throws `Client ID mismatch` or
 * `Invalid redirect URI`.
 */
export async function generateAuthUrl(
  { application, run, now }: ApplicationCall,
  linkTo: AuthPageLink,
  request: Unchecked<keyof typeof rules>,
): Promise<{ authUrl: string; loginIntentId: string }> {
  const { clientId, redirectUri, state } = check(request, rules);
  if (clientId !== application.clientId) throw new ServiceError('invalid_argument', 'Client ID mismatch');
  if (!isRegistered(redirectUri, application.redirectUris))
    throw new ServiceError('invalid_argument', 'Invalid redirect URI');

  // In the order of time, so that of indexes that have grown only the end is written.
  const loginIntentId = randomUUIDv7();
  await run(insertIntent, {
    applicationId: application.id,
    id: loginIntentId,
    redirectUri,
    state,
    createdAt: now,
    expiresAt: new Date(now.getTime() + INTENT_LIFETIME_MS),
  });
  return { authUrl: linkTo(loginIntentId), loginIntentId };
}

const insertIntent: Statement<unknown> = (db) =>
  db
    .insert(loginIntents)
    .values({
      applicationId: sql.placeholder('applicationId'),
      id: sql.placeholder('id'),
      redirectUri: sql.placeholder('redirectUri'),
      state: sql.placeholder('state'),
      createdAt: sql.placeholder('createdAt'),
      expiresAt: sql.placeholder('expiresAt'),
    })
    .prepare('insert_login_intent');
