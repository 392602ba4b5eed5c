/** The client of an authorization request, its redirect URI, and the application whose login it begins. */
import { isRegistered } from '../../../domain/applications/redirect-uri.ts';
import { describeRefusal, isClientUrl, toLogged } from '../clients/client-url.ts';
import type { OidcClient } from '../clients/oidc-clients.ts';
import type { Resource } from '../clients/resources.ts';
import { type AnswerTarget, readAnswerTarget } from '../domain/authorization/authorization-request.ts';
import { resourceOfMetadataClient, resourceOfRegistered } from '../domain/grants/choose-resource.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { type OidcPageRequest, PageProblem } from './oidc-page.ts';

export interface AskingClient {
  readonly target: AnswerTarget & { readonly redirectUri: string };
  readonly clientId: string;
  readonly requirePkce: boolean;
  /** Undefined for a client that nobody has registered. */
  readonly registered: OidcClient | undefined;
  /** The name in its metadata. Null for a registered client. */
  readonly clientName: string | null;
}

/** The application whose users sign in, and the client, if that is another. */
export interface AskedApplication {
  readonly application: Pick<OidcClient, 'id' | 'clientId' | 'singleSignOn'>;
  readonly resource: Resource | undefined;
}

/**
 * Returns the client and its redirect URI. An unknown URI may be an attacker's, so nothing is sent there.
 *
 * @throws PageProblem
 */
export async function readClient(request: OidcPageRequest): Promise<AskingClient> {
  const { parameters } = request;
  const clientId = parameters.get('client_id');
  const redirectUri = parameters.get('redirect_uri');
  if (clientId === undefined) throw problemWith('client_id is missing');
  if (parameters.hasRepeated(['client_id', 'redirect_uri'])) throw problemWith('client_id or redirect_uri comes twice');
  const client = isClientUrl(clientId)
    ? await readMetadataClient(request, clientId)
    : await readRegisteredClient(request, clientId);
  if (redirectUri === undefined) throw problemWith('redirect_uri is missing', 'unknown-redirect');
  const { isPublic, redirectUris, ...known } = client;
  if (!isRegistered(redirectUri, redirectUris, { isPublic })) {
    const place = client.registered ? 'not registered' : 'none of those that are usable in the client’s metadata';
    throw problemWith(`redirect_uri is ${place}: ${toLogged(redirectUri)}`, 'unknown-redirect');
  }
  return { ...known, clientId, target: { ...readAnswerTarget(parameters), redirectUri } };
}

async function readRegisteredClient({ oidcCall, parts }: OidcPageRequest, clientId: string) {
  const registered = await parts.clients.find(clientId);
  if (!registered) throw problemWith('client_id is unknown, or its application has no OpenID Connect');
  oidcCall.setApplication(registered.id);
  const { requirePkce, redirectUris, publicClient: isPublic } = registered;
  return { registered, clientName: null, requirePkce, redirectUris, isPublic };
}

/** Anybody can name a URL, so each fetch of one takes a permit of the network. */
async function readMetadataClient(request: OidcPageRequest, clientId: string) {
  const { context, call, parts } = request;
  const address = context.clientAddress;
  const mayFetch = () => parts.logins.take(address, call.now);
  const found = await parts.documents.find(clientId, { address, mayFetch });
  if ('problem' in found) {
    const { problem, cause } = found;
    const detail = describeRefusal(clientId, cause);
    if (problem === 'unknown') throw problemWith(detail);
    if (problem === 'too-many') throw new PageProblem('too-many', 'temporarily_unavailable', undefined, detail);
    throw new PageProblem('client-unavailable', 'invalid_request', undefined, detail);
  }
  const { name: clientName, redirectUris } = found.document;
  return { registered: undefined, clientName, requirePkce: true, redirectUris, isPublic: true };
}

/**
 * Returns the application for which the client asks: itself, or a resource.
 *
 * @throws OidcError `invalid_target` for a resource that is not known, or not open to the client
 */
export async function readAskedApplication(
  { oidcCall, parameters, parts }: OidcPageRequest,
  { clientId, registered }: AskingClient,
): Promise<AskedApplication> {
  const uri = parameters.get('resource');
  if (parameters.hasRepeated(['resource'])) throw new OidcError('invalid_target');
  if (!registered) {
    const resource = await resourceOfMetadataClient(parts.resources, uri);
    oidcCall.setApplication(resource.id);
    return { application: resource, resource };
  }
  const resource = await resourceOfRegistered(parts.resources, { uri, id: undefined }, clientId);
  return { application: resource ?? registered, resource };
}

function problemWith(detail: string, page: 'unknown-client' | 'unknown-redirect' = 'unknown-client'): PageProblem {
  return new PageProblem(page, 'invalid_request', 400, detail);
}
