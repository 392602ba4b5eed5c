/** Says why a sign-in by OpenID Connect has failed. The log gets it, so it has no text that the provider wrote. */
import * as openid from 'openid-client';
import { nameOAuthError } from './oauth-errors.ts';
import { ProviderError } from './provider-client.ts';

/** Returns whether an endpoint has answered an explained request with another status than 200. */
export function isRefusedRequest(error: unknown): error is ProviderError {
  if (!(error instanceof ProviderError)) return false;
  const { cause } = error;
  return (
    cause instanceof openid.WWWAuthenticateChallengeError || Object(cause).code === 'OAUTH_RESPONSE_IS_NOT_CONFORM'
  );
}

interface Asked {
  readonly issuer: string;
  /** How the client secret was sent. */
  readonly method: string;
  /** Undefined while they are fetched. */
  readonly metadata: openid.ServerMetadata | undefined;
}

/** Returns an error with the cause, or the given error if it is none of the library's: then the network has failed. */
export function explainOpenIdFault(error: unknown, asked: Asked): unknown {
  const detail = describe(error, asked);
  return detail === undefined ? error : new ProviderError(detail, { cause: error });
}

function describe(error: unknown, { issuer, method, metadata }: Asked): string | undefined {
  if (error instanceof openid.ResponseBodyError) {
    if (error.error === 'invalid_client') return `client secret refused (${method})`;
    return `${endpointOf(error.response, metadata)} answered ${nameOAuthError(error.error, String(error.status))}`;
  }
  if (error instanceof openid.WWWAuthenticateChallengeError) {
    const endpoint = endpointOf(error.response, metadata);
    if (endpoint === 'token_endpoint') return `client secret refused (${method})`;
    return `${isRefusal(error.status) ? 'no permission: ' : ''}${endpoint} answered ${error.status}`;
  }
  // The library wraps its errors once or twice. The innermost cause has the values.
  const { code, cause: inner } = Object(error);
  const cause = Object(Object(inner).cause ?? inner);
  switch (code) {
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
    case 'OAUTH_RESPONSE_IS_NOT_JSON':
      return describeResponse(inner, metadata);
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      if (cause.attribute !== 'issuer') return `unexpected ${cause.attribute} of the userinfo_endpoint`;
      return compareIssuer('issuer of the metadata', 'the file', cause.body?.issuer, issuer);
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
      if (cause.claim !== 'iss') return `unexpected ${cause.claim} of the ID token`;
      return compareIssuer('iss of the ID token', 'the metadata', cause.claims?.iss, cause.expected);
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return compareClocks(cause);
    case 'OAUTH_KEY_SELECTION_FAILED':
      return 'unknown signing key of the ID token';
    default:
      return undefined;
  }
}

function describeResponse(response: unknown, metadata: openid.ServerMetadata | undefined): string | undefined {
  if (!(response instanceof Response)) return undefined;
  const endpoint = endpointOf(response, metadata);
  if (response.status === 200) return `${endpoint} answered without JSON`;
  return `${isRefusal(response.status) ? 'no permission: ' : ''}${endpoint} answered ${response.status}`;
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** Returns the name of the URL in the metadata. */
function endpointOf({ url }: Response, metadata: openid.ServerMetadata | undefined): string {
  const names = ['token_endpoint', 'userinfo_endpoint', 'jwks_uri'] as const;
  const isAsked = (given: string | undefined) => given !== undefined && URL.parse(given)?.href === url;
  return names.find((name) => isAsked(metadata?.[name])) ?? 'openid-configuration';
}

function compareIssuer(what: string, where: string, given: unknown, expected: unknown): string {
  const isSlash = typeof given === 'string' && (`${given}/` === expected || given === `${expected}/`);
  return isSlash ? `${what} differs from ${where} by a slash at its end` : `unexpected ${what}`;
}

function compareClocks({ claim, claims, now }: Record<string, unknown>): string {
  const seconds = Number(Object(claims)[String(claim)]) - Number(now);
  const side = seconds < 0 ? 'past' : 'future';
  return `clocks differ: ${claim} of the ID token is ${Math.abs(seconds)} s in the ${side}`;
}
