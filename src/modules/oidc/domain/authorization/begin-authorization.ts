import { randomUUIDv7 } from 'node:crypto';
import { p, statement } from '../../../../database/sql/template.ts';
import type { Call } from '../../../../domain/core/call.ts';
import { INTENT_LIFETIME_MS } from '../../../../domain/login/generate-auth-url.ts';
import type { OidcClient } from '../../clients/oidc-clients.ts';
import type { AnswerTarget, AuthorizationRequest } from './authorization-request.ts';

/** What a client asks for, at itself or at a resource. */
export interface WantedScope {
  /** Bits, as in `scope.ts`. */
  readonly scope: number;
}

/** What the client of a resource asks for, or nothing. */
export interface OfClient {
  /** The client ID. Null if the application is the client. */
  readonly forClient: string | null;
  readonly clientName: string | null;
  readonly scopeNames: readonly string[] | null;
}

/** An application that asks for itself. */
export const FOR_ITSELF: OfClient = { forClient: null, clientName: null, scopeNames: null };

/** Creates a login intent for a checked request, and returns its ID. */
export async function beginAuthorization(
  { run, now }: Call,
  client: Pick<OidcClient, 'id'>,
  { redirectUri, state, responseMode }: AnswerTarget & { readonly redirectUri: string },
  {
    scope,
    nonce,
    codeChallenge,
    prompt,
    asksConsent,
    maxAgeSeconds,
    requiredAssurance,
    locale,
    ...wanted
  }: AuthorizationRequest & WantedScope & OfClient,
): Promise<string> {
  const id = randomUUIDv7();
  const expiresAt = new Date(now.getTime() + INTENT_LIFETIME_MS);
  const target = { applicationId: client.id, id, redirectUri, state, responseMode, createdAt: now, expiresAt };
  const { forClient, clientName, scopeNames } = wanted;
  const ofClient = { forClient, clientName, scopeNames, askConsent: asksConsent };
  const conditions = { prompt, maxAgeSeconds, requiredAssurance, locale };
  await run(insertIntent, { ...target, ...conditions, ...ofClient, scope, nonce, codeChallenge });
  return id;
}

const insertIntent = statement('insert_oidc_intent')`
  insert into login_intents
    (application_id, id, redirect_uri, state, response_mode, scope, nonce, code_challenge, prompt, max_age_seconds,
      required_assurance, locale, client_id, client_name, scope_names, ask_consent, created_at, expires_at)
  values (${p.uuid('applicationId')}, ${p.uuid('id')}, ${p.text('redirectUri')}, ${p.text('state')},
    ${p.text('responseMode')}, ${p.integer('scope')}, ${p.text('nonce')}, ${p.bytes('codeChallenge')},
    ${p.text('prompt')}, ${p.integer('maxAgeSeconds')}, ${p.integer('requiredAssurance')}, ${p.text('locale')},
    ${p.text('forClient')}, ${p.text('clientName')}, ${p.texts('scopeNames')}, ${p.boolean('askConsent')},
    ${p.instant('createdAt')}, ${p.instant('expiresAt')})`;
