/** The UserInfo endpoint: OpenID Connect Core 1.0, section 5.3, and RFC 6750. */

import type { Logger } from 'pino';
import type { Admission } from '../../../api/admission.ts';
import { isForm } from '../../../api/media-type.ts';
import { hasScope } from '../../../domain/grants/scope.ts';
import { headerOf } from '../../../http/exchange.ts';
import { findAccessToken, type TokenParts } from '../domain/grants/find-token.ts';
import { reportLeftOut } from '../domain/issuing/issue-tokens.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { readAccessToken } from '../domain/tokens/access-token.ts';
import { profileClaims } from '../domain/tokens/id-token.ts';
import { invalidRequest, readForm } from './client-credentials.ts';
import type { OidcCall } from './oidc-call.ts';
import type { OidcAnswer, OidcEndpoint } from './oidc-edge.ts';
import { allowPage, EXPOSED_HEADERS } from './oidc-edge.ts';

interface UserinfoParts extends TokenParts {
  readonly admission: Admission;
  readonly clock: () => Date;
  readonly logger: Logger;
}

export function createUserinfoEndpoints(parts: UserinfoParts): readonly OidcEndpoint[] {
  return (['GET', 'POST'] as const).map((method) => ({
    method,
    path: '/oidc/userinfo',
    run: async (call) => showUser(parts, call, await readToken(call, method)),
  }));
}

async function showUser(parts: UserinfoParts, call: OidcCall, text: string | undefined): Promise<OidcAnswer> {
  if (text === undefined) throw invalidToken('Bearer realm="usher"');
  const token = readAccessToken(parts.tokenKeys.accessToken, text);
  const found =
    token && (await parts.admission.run(token.applicationId, () => findAccessToken(parts, token, parts.clock())));
  if (!found) throw invalidToken('Bearer realm="usher", error="invalid_token"');
  const { applicationId, grant, scope, profile } = found;
  if (!hasScope(scope, 'openid')) throw insufficientScope();
  call.setApplication(applicationId, { isAuthenticated: true });
  allowPage(call.context, grant.redirectUris);
  return { body: { sub: grant.userId, ...profileClaims(scope, profile, reportLeftOut(parts.logger, applicationId)) } };
}

/** Returns the token of the header, or of the form. Ignores other bodies, and the query: URLs end up in logs. */
async function readToken({ context, deadline }: OidcCall, method: 'GET' | 'POST'): Promise<string | undefined> {
  const ofHeader = /^bearer +(\S+) *$/i.exec(headerOf(context, 'authorization') ?? '')?.[1];
  const hasForm = method === 'POST' && isForm(context.request);
  const ofForm = hasForm ? (await readForm(context, deadline)).get('access_token') : undefined;
  if (ofHeader !== undefined && ofForm !== undefined) throw invalidRequest('The token must come once');
  return ofHeader ?? ofForm;
}

function invalidToken(challenge: string): OidcError {
  return new OidcError('invalid_token', { headers: readableChallenge(challenge) });
}

/** A token of OAuth without OpenID Connect, which names nobody to its client. */
function insufficientScope(): OidcError {
  const challenge = 'Bearer realm="usher", error="insufficient_scope", scope="openid"';
  return new OidcError('insufficient_scope', { headers: readableChallenge(challenge) });
}

/** Returns headers that let pages of any origin read the error: it reveals no client and no user. */
function readableChallenge(challenge: string): Record<string, string> {
  const headers = { 'www-authenticate': challenge, 'access-control-allow-origin': '*' };
  return { ...headers, 'access-control-expose-headers': EXPOSED_HEADERS };
}
