import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { p, statement } from '../../database/sql/template.ts';
import { describeDifference, isRegistered } from '../applications/redirect-uri.ts';
import { ONE_FACTOR, requiredAssuranceRule } from '../core/assurance.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, integer, oneOf, optional, orDefault, text, textOrEmpty, type Unchecked } from '../core/validation.ts';

export const INTENT_LIFETIME_MS = 30 * 60_000;

const rules = {
  clientId: text({ max: 255 }),
  redirectUri: text({ max: 2048 }),
  state: text({ max: 500 }),
  locale: optional(text({ min: 0, max: 200 })),
  prompt: textOrEmpty(oneOf(['LOGIN', 'PASSKEYS'])),
  maxAgeSeconds: optional(integer({ min: 0, max: 31_536_000 })),
  requiredAssurance: orDefault(requiredAssuranceRule, ONE_FACTOR),
};

/** Returns the URL of the login page for an intent. */
export type AuthPageLink = (loginIntentId: string, clientId: string) => string;

/**
 * Returns a function that adds `intent` and `client_id` to the URL of the page. It parses the URL once instead of once
 * a call. The page needs the client ID to find the application after the intent was removed.
 */
export function createAuthPageLink(authPageUrl: string): AuthPageLink {
  const url = new URL(authPageUrl);
  const [intent, client] = [randomUUID(), randomUUID()];
  url.searchParams.delete('client_id');
  url.searchParams.set('intent', intent);
  url.searchParams.set('client_id', client);
  const [before = '', rest = ''] = url.href.split(intent);
  const [between = '', after = ''] = rest.split(client);
  return (loginIntentId, clientId) => before + loginIntentId + between + encodeURIComponent(clientId) + after;
}

/**
 * Creates a login intent and returns the URL to which the user is redirected.
 *
 * @throws ServiceError `Client ID mismatch`, `Invalid redirect URI`
 */
export async function generateAuthUrl(
  { application, run, now }: ApplicationCall,
  linkTo: AuthPageLink,
  request: Unchecked<keyof typeof rules>,
): Promise<{ authUrl: string; loginIntentId: string }> {
  const { clientId, redirectUri, state, locale, ...wanted } = check(request, rules);
  if (clientId !== application.clientId) throw new ServiceError('CLIENT_ID_MISMATCH');
  const { redirectUris } = application;
  if (!isRegistered(redirectUri, redirectUris))
    throw new ServiceError('INVALID_REDIRECT_URI', { detail: describeDifference(redirectUri, redirectUris) });

  // UUIDs of version 7 are ordered by time, so inserts write only to the end of large indexes.
  const loginIntentId = randomUUIDv7();
  await run(insertIntent, {
    applicationId: application.id,
    id: loginIntentId,
    redirectUri,
    state,
    locale: locale || null,
    ...wanted,
    createdAt: now,
    expiresAt: new Date(now.getTime() + INTENT_LIFETIME_MS),
  });
  return { authUrl: linkTo(loginIntentId, clientId), loginIntentId };
}

const insertIntent = statement('insert_login_intent')`
  insert into login_intents
    (application_id, id, redirect_uri, state, locale, prompt, max_age_seconds, required_assurance, created_at,
      expires_at)
  values (${p.uuid('applicationId')}, ${p.uuid('id')}, ${p.text('redirectUri')}, ${p.text('state')},
    ${p.text('locale')}, ${p.text('prompt')}, ${p.integer('maxAgeSeconds')}, ${p.integer('requiredAssurance')},
    ${p.instant('createdAt')}, ${p.instant('expiresAt')})`;
