/** Revocation (RFC 7009) and introspection (RFC 7662) of a client's own tokens. */

import { acrOf } from '../../../domain/core/assurance.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import { endGrant } from '../../../domain/grants/end-grants.ts';
import { presentScope } from '../../../domain/grants/scope.ts';
import type { TokenStatus } from '../../../domain/grants/token-status.ts';
import { toSeconds } from '../../../domain/tokens/verify-token.ts';
import { readAccessToken } from '../domain/access-token.ts';
import { type FoundToken, findAccessToken, findRefreshToken, type TokenParts } from '../domain/find-token.ts';
import { readRefreshToken } from '../domain/refresh-token.ts';
import { invalidClient } from './client-credentials.ts';
import type { OidcEndpoint } from './oidc-edge.ts';
import { requireField } from './read-form.ts';
import { type ClientCall, type ClientParts, runAsClient } from './run-as-client.ts';

interface StatusParts extends ClientParts, TokenParts {
  readonly issuer: string;
}

export function createTokenStatusEndpoints(parts: StatusParts): readonly OidcEndpoint[] {
  return [
    {
      method: 'POST',
      path: '/oidc/revoke',
      run: async (call) => {
        await runAsClient(parts, call, (clientCall, form) => revoke(clientCall, parts, requireField(form, 'token')));
        return {};
      },
    },
    {
      method: 'POST',
      path: '/oidc/introspect',
      run: async (call) => ({
        body: await runAsClient(parts, call, (clientCall, form) =>
          introspect(clientCall, parts, requireField(form, 'token')),
        ),
      }),
    },
  ];
}

/** Ends the grant of a token. Does nothing for other texts, without an error (RFC 7009, section 2.2). */
async function revoke(call: ClientCall, { liveSessions, tokenKeys }: StatusParts, text: string): Promise<void> {
  const token = readAccessToken(tokenKeys.accessToken, text) ?? readRefreshToken(tokenKeys.refreshToken, text);
  const { application } = call;
  if (token?.applicationId !== application.id) return;
  const userId = await endGrant(call, token);
  if (userId) liveSessions.forgetUser(userId);
}

/** Demands a secret, because anybody can call as a public client. */
export async function introspect(
  call: ApplicationCall & { readonly isPublic?: boolean },
  parts: TokenParts & Pick<StatusParts, 'issuer'>,
  text: string,
): Promise<TokenStatus> {
  if (call.isPublic) throw invalidClient();
  const { application, now } = call;
  const accessToken = readAccessToken(parts.tokenKeys.accessToken, text);
  const refreshToken = readRefreshToken(parts.tokenKeys.refreshToken, text);
  // Do not look up tokens of other clients.
  if ((accessToken ?? refreshToken)?.applicationId !== application.id) return { active: false };
  const found: FoundToken | undefined = accessToken
    ? await findAccessToken(parts, accessToken, now)
    : refreshToken && (await findRefreshToken(parts, refreshToken, now));
  if (!found) return { active: false };
  const { grant, scope, expiresAt } = found;
  return {
    active: true,
    iss: parts.issuer,
    aud: application.clientId,
    client_id: application.clientId,
    sub: grant.userId,
    sid: grant.sid,
    scope: presentScope(scope),
    token_type: accessToken ? 'Bearer' : 'refresh_token',
    exp: toSeconds(expiresAt),
    auth_time: toSeconds(grant.authenticatedAt),
    // RFC 9470, section 6.2.
    acr: acrOf(grant.assurance),
  };
}
