/** Reads requests to the authorization endpoint: OpenID Connect Core 1.0, section 3.1.2.1. Without `openid`, OAuth. */

import { levelOfAcrValues } from '../../../../domain/core/assurance.ts';
import { OidcError } from '../oidc-error.ts';
import type { Parameters } from '../parameters.ts';

export interface AuthorizationRequest {
  readonly nonce: string | null;
  /** SHA-256 of the code verifier (RFC 7636). Null if the client does not use PKCE. */
  readonly codeChallenge: Buffer | null;
  /** `LOGIN` if the user must sign in again, or empty. */
  readonly prompt: 'LOGIN' | '';
  /** Whether the user must be asked for consent, also if that is remembered (`prompt=consent`). */
  readonly asksConsent: boolean;
  /** Whether Usher must answer without showing a page (`prompt=none`). */
  readonly isSilent: boolean;
  readonly maxAgeSeconds: number | null;
  /** The strongest level that `acr_values` lists. */
  readonly requiredAssurance: number;
  /** The languages that the application prefers: BCP 47 tags, separated by spaces. */
  readonly locale: string | null;
  readonly loginHint: string | undefined;
  readonly idTokenHint: string | undefined;
}

/** How to answer the application. It is read before the rest of the request is checked, because errors need it, too. */
export interface AnswerTarget {
  readonly responseMode: 'query' | 'form_post';
  /** Empty if the request has none that can be sent back. */
  readonly state: string;
}

const MAX_BYTES = { state: 4_096, nonce: 1_024, scope: 1_000 } as const;
/** A year, the limit of GenerateAuthUrl. */
const LONGEST_AGE_SECONDS = 31_536_000;
const MAX_LOCALE_LENGTH = 200;

/** Parameters that a request must not repeat (RFC 6749, section 3.1). */
const SINGLE = [
  ...['response_type', 'response_mode', 'scope', 'state', 'nonce', 'code_challenge', 'code_challenge_method'],
  ...['prompt', 'max_age', 'login_hint', 'ui_locales', 'id_token_hint', 'display', 'acr_values', 'claims'],
  ...['request', 'request_uri', 'registration'],
];

/** All that a request can have. */
export const AUTHORIZE_PARAMETERS = ['client_id', 'redirect_uri', 'resource', ...SINGLE];

const UNSUPPORTED = {
  request: 'request_not_supported',
  request_uri: 'request_uri_not_supported',
  registration: 'registration_not_supported',
} as const;

/** Never throws, so that a refused request can be answered, too. */
export function readAnswerTarget(parameters: Parameters): AnswerTarget {
  const state = parameters.get('state') ?? '';
  const isUsable = !parameters.hasRepeated(['state']) && isStorable(state, MAX_BYTES.state);
  const isForm = parameters.get('response_mode') === 'form_post' && !parameters.hasRepeated(['response_mode']);
  return { responseMode: isForm ? 'form_post' : 'query', state: isUsable ? state : '' };
}

/** Checks and returns the request. @throws OidcError for the first check that fails */
export function readAuthorizationRequest(
  parameters: Parameters,
  { requirePkce }: { readonly requirePkce: boolean },
): AuthorizationRequest {
  const get = (name: string) => parameters.get(name);
  if (parameters.hasRepeated(SINGLE)) throw invalid('A parameter is repeated');
  for (const [name, max] of Object.entries(MAX_BYTES))
    if (!isStorable(get(name) ?? '', max)) throw invalid(`${name} is longer than ${max} bytes, or contains NUL`);
  const responseType = get('response_type');
  if (responseType === undefined) throw invalid('response_type is missing');
  if (responseType !== 'code') throw new OidcError('unsupported_response_type');
  const responseMode = get('response_mode');
  if (responseMode !== undefined && responseMode !== 'query' && responseMode !== 'form_post')
    throw invalid('response_mode is neither query nor form_post');
  for (const [name, error] of Object.entries(UNSUPPORTED)) if (get(name) !== undefined) throw new OidcError(error);
  const codeChallenge = readCodeChallenge(parameters, requirePkce);
  const prompts = (get('prompt') ?? '').split(' ').filter(Boolean);
  const isSilent = prompts.includes('none');
  if (isSilent && prompts.some((prompt) => prompt !== 'none')) throw invalid('prompt has other values beside none');
  return {
    nonce: get('nonce') ?? null,
    codeChallenge,
    prompt: prompts.includes('login') ? 'LOGIN' : '',
    asksConsent: prompts.includes('consent'),
    isSilent,
    maxAgeSeconds: readMaxAge(get('max_age')),
    requiredAssurance: levelOfAcrValues(get('acr_values')),
    locale: readLocale(get('ui_locales')),
    loginHint: get('login_hint'),
    idTokenHint: get('id_token_hint'),
  };
}

/** RFC 7636, section 4.3. The method `plain` is refused, because it protects nothing. */
function readCodeChallenge(parameters: Parameters, requirePkce: boolean): Buffer | null {
  const challenge = parameters.get('code_challenge');
  const method = parameters.get('code_challenge_method');
  if (challenge === undefined && method === undefined && !requirePkce) return null;
  if (challenge === undefined) throw invalid('code_challenge is missing');
  if (method !== 'S256') throw invalid('code_challenge_method is not S256');
  if (!/^[\w-]{43}$/.test(challenge)) throw invalid('code_challenge is not a SHA-256 in base64url');
  return Buffer.from(challenge, 'base64url');
}

function readMaxAge(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d+$/.test(text)) throw invalid('max_age is not a whole number');
  return Math.min(Number(text), LONGEST_AGE_SECONDS);
}

/** Returns as many whole tags as fit into the limit. */
function readLocale(tags: string | undefined): string | null {
  if (tags === undefined || tags.includes('\0')) return null;
  if (tags.length <= MAX_LOCALE_LENGTH) return tags;
  return tags
    .slice(0, MAX_LOCALE_LENGTH + 1)
    .replace(/\S*$/, '')
    .trim();
}

/** Postgres stores no NUL. */
function isStorable(text: string, maxBytes: number): boolean {
  return Buffer.byteLength(text) <= maxBytes && !text.includes('\0');
}

function invalid(description: string): OidcError {
  return new OidcError('invalid_request', { description });
}
