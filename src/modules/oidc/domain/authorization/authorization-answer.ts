/**
 * Answers logins of OpenID Connect: in the query of the redirect URI, by a page whose form posts to that URI, or, if a
 * device has begun the login, by the page that asks the person whether to let the device in.
 */

import { addToQuery } from '../../../../domain/applications/redirect-uri.ts';
import type { AskedLogin, CompletedAsk, ProtocolAnswers } from '../../../../domain/tokens/auth-tokens.ts';
import { toUuidBytes } from '../../../../encoding/uuid-bytes.ts';
import { createCode } from '../tokens/code.ts';
import { type SealKeys, sealBytes } from '../tokens/sealed-bytes.ts';
import type { TokenKeys } from '../tokens/token-keys.ts';

/** The path of the page that posts the answer (OAuth 2.0 Form Post Response Mode), relative to the public URL. */
const RETURN_PATH = '/oidc/return';
/** The page about a device before the login, and the one after it. */
export const DEVICE_PATHS = { request: '/device/request', approval: '/device/approve' } as const;
/** The path of the page that asks for consent. */
export const CONSENT_PATH = '/oidc/consent';
/** Counted from the completion of the login, or from the consent. RFC 6749, section 4.1.2, recommends at most ten minutes. */
export const CODE_LIFETIME_MS = 60_000;

export interface AnswerParameters {
  readonly code?: string;
  readonly error?: string;
  readonly error_description?: string;
}

/** Returns whether the code of an intent can be exchanged for tokens. */
export function isCodeLive(
  {
    completedAt,
    clientName,
    consentedAt,
    redeemedAt,
  }: Omit<CompletedAsk, 'completedAt' | 'expiresAt'> & { readonly completedAt: Date | null },
  now: Date,
): boolean {
  const allowedAt = clientName === null ? completedAt : consentedAt;
  return redeemedAt === null && allowedAt !== null && now.getTime() < allowedAt.getTime() + CODE_LIFETIME_MS;
}

/** Returns whether the user can still consent, and has not denied it. */
export function awaitsConsent(
  { clientName, consentedAt, redeemedAt, expiresAt }: Omit<CompletedAsk, 'completedAt'>,
  now: Date,
) {
  return clientName !== null && consentedAt === null && redeemedAt === null && now < expiresAt;
}

/** Returns the parameters that the application gets. RFC 9207: `iss` protects it from mix-up attacks. */
export function answerOf(
  issuer: string,
  { state }: Pick<AskedLogin, 'state'>,
  parameters: AnswerParameters,
): Record<string, string> {
  return { ...parameters, ...(state && { state }), iss: issuer };
}

/** Answers logins by a code that only Usher can make. */
export function createAuthorizationAnswers(issuer: string, keys: TokenKeys): ProtocolAnswers {
  return {
    toCompletedUrl: (login) =>
      isOfDevice(login)
        ? urlOf(issuer, DEVICE_PATHS.approval, { code: createCode(keys.deviceApproval, login.loginIntentId) })
        : codeUrlOf(issuer, keys, login),
    toErrorUrl: (login, error) =>
      isOfDevice(login)
        ? urlOf(issuer, DEVICE_PATHS.request, { request: createCode(keys.deviceRequest, login.id) })
        : errorUrlOf(issuer, login, error),
    // A device asks for its tokens until its code expires.
    isLive: (login, now) =>
      isOfDevice(login)
        ? !login.redeemedAt && now < login.expiresAt
        : isCodeLive(login, now) || awaitsConsent(login, now),
  };
}

const isOfDevice = ({ responseMode }: Pick<AskedLogin, 'responseMode'>) => responseMode === 'device';

function codeUrlOf(
  issuer: string,
  keys: Pick<TokenKeys, 'code' | 'consent'>,
  login: AskedLogin & { readonly loginIntentId: string },
): string {
  if (login.clientName !== null) return consentUrlOf(issuer, keys.consent, login.loginIntentId);
  const code = codeOf(keys.code, login);
  if (login.responseMode === 'form_post') return urlOf(issuer, RETURN_PATH, { code });
  return addToQuery(login.redirectUri, answerOf(issuer, login, { code }));
}

/** Only the browser that has signed in gets the link, as it would get the code. */
function consentUrlOf(issuer: string, keys: SealKeys, loginIntentId: string): string {
  return urlOf(issuer, CONSENT_PATH, { login: sealBytes(keys, toUuidBytes(loginIntentId)) });
}

export function codeOf(
  keys: SealKeys,
  {
    loginIntentId,
    forClient,
    applicationId,
  }: Pick<AskedLogin, 'forClient' | 'applicationId'> & { loginIntentId: string },
): string {
  return createCode(keys, loginIntentId, forClient === null ? undefined : applicationId);
}

function errorUrlOf(
  issuer: string,
  { id, ...intent }: Pick<AskedLogin, 'responseMode' | 'redirectUri' | 'state'> & { readonly id: string },
  error: string,
): string {
  if (intent.responseMode === 'form_post') return urlOf(issuer, RETURN_PATH, { intent: id, error });
  return addToQuery(intent.redirectUri, answerOf(issuer, intent, { error }));
}

function urlOf(issuer: string, path: string, parameters: Record<string, string>): string {
  return `${issuer.replace(/\/$/, '')}${path}?${new URLSearchParams(parameters)}`;
}
