/** Revocation (RFC 7009) of a client's own tokens, and introspection (RFC 7662) of those of a client or resource. */

import { acrOf } from '../../../domain/core/assurance.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import { endGrant } from '../../../domain/grants/end-grants.ts';
import type { TokenStatus } from '../../../domain/grants/token-status.ts';
import { toSeconds } from '../../../domain/tokens/verify-token.ts';
import type { Resource } from '../clients/resources.ts';
import { type FoundToken, findAccessToken, findRefreshToken, type TokenParts } from '../domain/grants/find-token.ts';
import type { LiveGrant } from '../domain/grants/live-grants.ts';
import { introspectMachineToken } from '../domain/machines/introspect-machine-token.ts';
import type { MachineKeys } from '../domain/machines/machine-keys.ts';
import { readMachineToken } from '../domain/machines/machine-token.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { type OpenAccessToken, readAccessToken } from '../domain/tokens/access-token.ts';
import { readRefreshToken } from '../domain/tokens/refresh-token.ts';
import { fromBits, presentScopes } from '../domain/tokens/scope-names.ts';
import { invalidClient, requireField } from './client-credentials.ts';
import type { OidcEndpoint } from './oidc-edge.ts';
import { type ClientCall, type ClientParts, runAsClient } from './run-as-client.ts';

interface StatusParts extends ClientParts, TokenParts {
  readonly issuer: string;
  readonly machineKeys: MachineKeys;
}

export function createTokenStatusEndpoints(parts: StatusParts): readonly OidcEndpoint[] {
  return [
    {
      method: 'POST',
      path: '/oidc/revoke',
      run: async (call) => {
        await runAsClient(
          parts,
          call,
          (clientCall, form) => revoke(clientCall, parts, requireField(form, 'token')),
          (form) => findResource(parts, requireField(form, 'token')),
        ).catch(ignoreUnknownToken);
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

/** Returns the resource of the token, or refuses a token that names none. @throws OidcError `invalid_grant` */
async function findResource({ resources, ...parts }: StatusParts, text: string): Promise<Resource> {
  const token = readToken(parts, text);
  const resource = token?.isForClient ? await resources.findById(token.applicationId) : undefined;
  if (!resource) throw new OidcError('invalid_grant');
  return resource;
}

/** A token that cannot be revoked is no error (RFC 7009, section 2.2). */
function ignoreUnknownToken(error: Partial<OidcError>): void {
  if (error.reason !== 'invalid_grant') throw error;
}

function readToken({ tokenKeys }: Pick<StatusParts, 'tokenKeys'>, text: string) {
  const access = readAccessToken(tokenKeys.accessToken, text);
  if (access) return { ...access, isForClient: access.names !== undefined };
  return readRefreshToken(tokenKeys.refreshToken, text);
}

/** Ends the grant of a token. Does nothing for other texts, without an error (RFC 7009, section 2.2). */
async function revoke(call: ClientCall, parts: StatusParts, text: string): Promise<void> {
  const token = readToken(parts, text);
  if (!token) return;
  const { applicationId: id, grantId, isForClient } = token;
  if (!isForClient && id !== call.application.id) return;
  if (isForClient && (await parts.liveGrants.find(id, grantId))?.clientId !== call.clientId) return;
  // The sign-in that the browser remembers is not one of the client.
  const application = isForClient ? { ...call.application, id, singleSignOn: false } : call.application;
  const userId = await endGrant({ ...call, application }, token);
  if (userId) parts.liveSessions.forgetUser(userId);
}

/** Demands a secret, because anybody can call as a public client. */
export async function introspect(
  call: ApplicationCall & { readonly isPublic?: boolean },
  parts: TokenParts & Pick<StatusParts, 'issuer' | 'machineKeys'> & { readonly openAccessToken?: OpenAccessToken },
  text: string,
): Promise<TokenStatus> {
  if (call.isPublic) throw invalidClient();
  const { application, now } = call;
  const machineToken = readMachineToken(parts.tokenKeys.machineToken, text);
  if (machineToken) return introspectMachineToken(call, parts, machineToken);
  const open = parts.openAccessToken ?? ((given: string) => readAccessToken(parts.tokenKeys.accessToken, given));
  const accessToken = open(text);
  const token = accessToken ?? readRefreshToken(parts.tokenKeys.refreshToken, text);
  // Do not look up tokens of other clients.
  if (token?.applicationId !== application.id) return { active: false };
  const found: FoundToken | undefined =
    'sessionId' in token ? await findAccessToken(parts, token, now) : await findRefreshToken(parts, token, now);
  if (!found) return { active: false };
  const { grant, scope, expiresAt } = found;
  return {
    active: true,
    iss: parts.issuer,
    // The application itself, or the resource that it is for other clients.
    aud: grant.resourceUri ?? application.clientId,
    client_id: grant.clientId,
    sub: grant.userId,
    sid: grant.sid,
    scope: presentScopes(scope, namesOf(grant, accessToken?.names)),
    token_type: accessToken ? 'Bearer' : 'refresh_token',
    exp: toSeconds(expiresAt),
    auth_time: toSeconds(grant.authenticatedAt),
    // RFC 9470, section 6.2.
    acr: acrOf(grant.assurance),
    grant_id: token.grantId,
  };
}

/** Returns the scopes of the token at the resource, without those that the resource no longer has. */
function namesOf({ scopeNames, knownNames }: LiveGrant, bits: bigint | undefined): string[] {
  const granted = scopeNames ?? [];
  const names = bits === undefined ? granted : fromBits(granted, bits);
  return names.filter((name) => knownNames?.includes(name));
}
