import type { ApplicationCall } from '../../../../domain/core/call.ts';
import type { Resources } from '../../clients/resources.ts';
import { resourceOfRegistered } from '../grants/choose-resource.ts';
import { chooseNames } from '../grants/narrow-scope.ts';
import { createMachineToken, MACHINE_TOKEN_SECONDS } from '../machines/machine-token.ts';
import { OidcError } from '../oidc-error.ts';
import type { OidcProvider } from '../tokens/provider.ts';
import type { IssuedTokens } from './issue-tokens.ts';

interface MachineCall extends ApplicationCall {
  readonly clientId: string;
  /** The API key that the client has sent. Null for a public client. */
  readonly apiKeyId: string | null;
}

/**
 * Issues a token for the client itself (RFC 6749, section 4.4). It changes nothing, so it runs no statement but those of
 * caches.
 *
 * @throws OidcError `unauthorized_client` without a secret, which is all that the token is worth; `invalid_target`
 * unless the resource lists the client; `invalid_scope` as `chooseNames` does
 */
export async function issueMachineToken(
  { apiKeyId, application, clientId, now }: MachineCall,
  { provider, resources }: { readonly provider: OidcProvider; readonly resources: Resources },
  request: { readonly resource: string | undefined; readonly scope: string | undefined },
): Promise<IssuedTokens> {
  if (apiKeyId === null) throw new OidcError('unauthorized_client', { description: 'The client has no secret' });
  const named = { uri: request.resource, id: undefined };
  const resource = await resourceOfRegistered(resources, named, clientId);
  if (!resource) throw new OidcError('invalid_target', { description: 'resource is missing' });
  const scope = chooseNames(request.scope, resource.resourceScopes).join(' ');
  const expiresAt = new Date(now.getTime() + MACHINE_TOKEN_SECONDS * 1_000);
  const token = { clientApplicationId: application.id, resourceId: resource.id, apiKeyId, expiresAt, scope };
  return {
    accessToken: createMachineToken(provider.tokenKeys.machineToken, token),
    expiresInSeconds: MACHINE_TOKEN_SECONDS,
    idToken: undefined,
    refreshToken: undefined,
    scope,
  };
}
