/** Answers logins of OpenID Connect: in the query of the redirect URI, or by a page whose form posts to that URI. */
import { addToQuery } from '../applications/redirect-uri.ts';
import { createCode } from './code.ts';
import type { SealKeys } from './sealed-bytes.ts';

/** The path of the page that posts the answer (OAuth 2.0 Form Post Response Mode), relative to the public URL. */
const RETURN_PATH = '/oidc/return';
/** Counted from the completion of the login. RFC 6749, section 4.1.2, recommends at most ten minutes. */
export const CODE_LIFETIME_MS = 60_000;

interface OidcIntent {
  /** Empty if GenerateAuthUrl created the intent, which is then answered by an auth token. */
  readonly responseMode: string;
  readonly redirectUri: string;
  /** Empty if the application has sent none. */
  readonly state: string;
}

export interface AnswerParameters {
  readonly code?: string;
  readonly error?: string;
  readonly error_description?: string;
}

export function isOidcIntent({ responseMode }: Pick<OidcIntent, 'responseMode'>): boolean {
  return responseMode !== '';
}

/** Returns whether the code of a completed intent can be exchanged for tokens. */
export function isCodeLive(
  { completedAt, redeemedAt }: { readonly completedAt: Date; readonly redeemedAt: Date | null },
  now: Date,
): boolean {
  return redeemedAt === null && now.getTime() < completedAt.getTime() + CODE_LIFETIME_MS;
}

/** Returns the parameters that the application gets. RFC 9207: `iss` protects it from mix-up attacks. */
export function answerOf(
  issuer: string,
  { state }: Pick<OidcIntent, 'state'>,
  parameters: AnswerParameters,
): Record<string, string> {
  return { ...parameters, ...(state && { state }), iss: issuer };
}

/** Returns the URL to which the browser is redirected with the code of a completed intent. */
export function codeUrlOf(
  { issuer, codeKeys }: { readonly issuer: string; readonly codeKeys: SealKeys },
  { loginIntentId, ...intent }: OidcIntent & { readonly loginIntentId: string },
): string {
  const code = createCode(codeKeys, loginIntentId);
  if (intent.responseMode === 'form_post') return returnUrlOf(issuer, { code });
  return addToQuery(intent.redirectUri, answerOf(issuer, intent, { code }));
}

/** Returns the URL to which the browser is redirected with an error for an open intent. */
export function errorUrlOf(
  issuer: string,
  { id, ...intent }: OidcIntent & { readonly id: string },
  error: string,
): string {
  if (intent.responseMode === 'form_post') return returnUrlOf(issuer, { intent: id, error });
  return addToQuery(intent.redirectUri, answerOf(issuer, intent, { error }));
}

function returnUrlOf(issuer: string, parameters: Record<string, string>): string {
  return `${issuer.replace(/\/$/, '')}${RETURN_PATH}?${new URLSearchParams(parameters)}`;
}
