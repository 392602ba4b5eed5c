import { isClientUrl } from '../clients/client-url.ts';
import type { OidcClient } from '../clients/oidc-clients.ts';
import { type IdTokenHint, readIdTokenHint } from '../domain/authorization/id-token-hint.ts';
import { type OidcPageRequest, takeOidcPermits } from './oidc-page.ts';

/** The parameters that a request may have only once. */
export const SINGLE_AT_LOGOUT = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'];

/** The application that has sent the browser to the logout endpoint. */
export interface NamedLogin {
  readonly clientId: string;
  /** Undefined for a client that nobody has registered. */
  readonly client: OidcClient | undefined;
  /** Undefined if the application has sent its client ID alone, or what is no ID token of Usher. */
  readonly hint: IdTokenHint | undefined;
  /** Whether the login of the ID token may still last. */
  readonly isRecent: boolean;
}

/**
 * Returns undefined if the request names no application, or names two.
 *
 * @throws PageProblem if the network has no permits: to check a signature takes CPU time
 */
export async function readNamedLogin(request: OidcPageRequest): Promise<NamedLogin | undefined> {
  const { call, oidcCall, parameters, parts } = request;
  const token = parameters.get('id_token_hint');
  const clientId = parameters.get('client_id');
  if ((token === undefined && clientId === undefined) || parameters.hasRepeated(SINGLE_AT_LOGOUT)) return undefined;
  takeOidcPermits(request, parts.logouts);
  const hint = token === undefined ? undefined : readIdTokenHint(parts.oidc.signingKeys, parts.tokens.issuer, token);
  const named = hint?.clientId ?? clientId;
  if (named === undefined || (clientId !== undefined && clientId !== named)) return undefined;
  const client = await parts.clients.find(named);
  if (!client && !(hint && isClientUrl(named))) return undefined;
  if (client) oidcCall.setApplication(client.id);
  const maxAgeMs = (client?.sessionMaxAgeSeconds ?? parts.sessionMaxAgeSeconds) * 1_000;
  const isRecent = hint !== undefined && hint.issuedAt.getTime() + maxAgeMs >= call.now.getTime();
  return { clientId: named, client, hint, isRecent };
}
