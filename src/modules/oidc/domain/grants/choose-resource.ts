/** Which application the tokens of a request are for: RFC 8707. */

import type { Resource, Resources } from '../../clients/resources.ts';
import { OidcError } from '../oidc-error.ts';

/** What a request says of the resource. */
interface Named {
  /** The parameter `resource`. */
  readonly uri: string | undefined;
  /** The application that the code or token names. Undefined if that is the client itself. */
  readonly id: string | undefined;
}

/**
 * Returns the resource for which a registered client asks, or undefined if it asks for itself.
 *
 * @throws OidcError `invalid_target` unless the resource lists the client
 */
export async function resourceOfRegistered(
  resources: Resources,
  { uri, id }: Named,
  clientId: string,
): Promise<Resource | undefined> {
  if (uri === undefined && id === undefined) return undefined;
  const byId = id === undefined ? undefined : await resources.findById(id);
  const byUri = uri === undefined ? undefined : await resources.findByUri(uri);
  const resource = byUri ?? byId;
  if (!resource?.machineClientIds.includes(clientId) || (uri !== undefined && !byUri)) throw invalidTarget();
  if (id !== undefined && resource.id !== id) throw invalidTarget();
  return resource;
}

/**
 * Returns the resource for which a client asks that nobody has registered. It has no application of its own, so it must
 * name one.
 *
 * @throws OidcError `invalid_target` unless the resource lets such clients ask
 */
export async function resourceOfMetadataClient(resources: Resources, uri: string | undefined): Promise<Resource> {
  const resource = await resources.findByUri(uri ?? '');
  if (!resource?.allowMetadataClients) throw invalidTarget();
  return resource;
}

function invalidTarget(): OidcError {
  return new OidcError('invalid_target');
}
