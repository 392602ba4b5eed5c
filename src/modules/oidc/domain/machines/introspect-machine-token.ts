import type { ApplicationCall } from '../../../../domain/core/call.ts';
import type { TokenStatus } from '../../../../domain/grants/token-status.ts';
import { toSeconds } from '../../../../domain/tokens/verify-token.ts';
import type { MachineKeys } from './machine-keys.ts';
import { issuedAtOf, type MachineToken } from './machine-token.ts';

/** Tells the resource of a token, and nobody else, which client has got it. The answer is at most 5 seconds old. */
export async function introspectMachineToken(
  { application, now }: ApplicationCall,
  { issuer, machineKeys }: { readonly issuer: string; readonly machineKeys: MachineKeys },
  { apiKeyId, clientApplicationId, resourceId, expiresAt, scope }: MachineToken,
): Promise<TokenStatus> {
  if (resourceId !== application.id || expiresAt <= now) return { active: false };
  const key = await machineKeys.find(resourceId, apiKeyId);
  // Equivalent: condition: an application that is no resource any more has changed since
  if (key?.applicationId !== clientApplicationId || !key.resourceUri) return { active: false };
  if (key.expiresAt && key.expiresAt <= now) return { active: false };
  const { clientId, resourceScopes, resourceUri, resourceUriChangedAt } = key;
  // Equivalent: condition: no instant is before null
  if (resourceUriChangedAt && issuedAtOf(expiresAt) <= resourceUriChangedAt) return { active: false };
  const granted = scope.split(' ');
  const names = resourceScopes.map(({ name }) => name).filter((name) => granted.includes(name));
  return {
    active: true,
    iss: issuer,
    aud: resourceUri,
    client_id: clientId,
    sub: clientId,
    scope: names.join(' '),
    token_type: 'Bearer',
    exp: toSeconds(expiresAt),
  };
}
