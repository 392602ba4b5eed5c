import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import { resourceOfRegistered } from '../domain/grants/choose-resource.ts';
import type { ClientCall, ClientParts } from './run-as-client.ts';

/**
 * Returns the call of a registered client as one for the tokens of another application, if it asks for those.
 *
 * @throws OidcError `invalid_target` unless the resource lists the client
 */
export async function callAtResource(
  call: ClientCall,
  { resources }: Pick<ClientParts, 'resources'>,
  named: { readonly uri: string | undefined; readonly id: string | undefined },
): Promise<ClientCall> {
  const { clientId } = call;
  if (call.forClient !== null) return call;
  const resource = await resourceOfRegistered(resources, named, clientId);
  if (!resource) return call;
  const { application: client } = call;
  const { resourceScopes, ...application } = resource;
  const requiredAssurance = Math.max(resource.requiredAssurance, client.requiredAssurance ?? ONE_FACTOR);
  return { ...call, application: { ...application, requiredAssurance }, client, forClient: clientId, resourceScopes };
}
