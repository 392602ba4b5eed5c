/** Errors of OAuth 2.0 and OpenID Connect, in the words of their standards. Only these are logged. */
import { ServiceError } from '../../../domain/core/errors.ts';

/** The person has not signed in, or has not agreed. */
const REFUSED_BY_PERSON: readonly string[] = [
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'login_required',
];

const KNOWN: readonly string[] = [
  ...REFUSED_BY_PERSON,
  'insufficient_scope',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'invalid_token',
  'request_not_supported',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  // Of GitHub, which answers 200.
  'bad_verification_code',
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
  'unverified_user_email',
];

export function isRefusedByPerson(error: string): boolean {
  return REFUSED_BY_PERSON.includes(error);
}

/** Returns the error of a provider that has sent the browser back with an error that is not the person's. */
export function toProviderError(error: string): ServiceError {
  const detail = `authorization endpoint answered ${nameOAuthError(error, 'an unknown error')}`;
  return new ServiceError('PROVIDER_UNAVAILABLE', { detail });
}

/** Returns the error, or another text if it is the provider's own: that text may be about the person. */
export function nameOAuthError(error: unknown, other: string): string {
  return KNOWN.find((known) => known === error) ?? other;
}
