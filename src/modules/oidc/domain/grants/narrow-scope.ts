/** The scope of a login (RFC 6749, section 3.3), and that of a refresh, which must be a part of it (section 6). */
import type { ResourceScope } from '../../../../database/schema/column-types.ts';
import { readScope } from '../../../../domain/grants/scope.ts';
import { OidcError } from '../oidc-error.ts';
import type { RefreshToken } from '../tokens/refresh-token.ts';
import { namesIn, toNames } from '../tokens/scope-names.ts';
import type { LiveGrants } from './live-grants.ts';

/** What a request asks for: bits, as in `scope.ts`, and names of the resource. */
interface AskedScope {
  readonly scope: number;
  readonly names: string[];
}

const DEFAULT = readScope('openid');
const REFRESH = readScope('offline_access');

/**
 * Returns what a login asks for. Unknown scopes beside known ones are ignored. Without a scope, that is all that the
 * resource has, or `openid`: the scope of a token must not be empty. So it is with `offline_access` alone, which MCP
 * clients add to the scope of a server that has none.
 *
 * @param allowed bits of OpenID Connect that the client may ask for
 * @throws OidcError `invalid_scope` if it asks for others alone
 */
export function chooseScope(text = '', ofResource: readonly ResourceScope[], allowed = -1): AskedScope {
  const scope = readScope(text) & allowed;
  if ((scope & ~REFRESH) !== 0) return { scope, names: namesIn(text, toNames(ofResource)) };
  const names = chooseNames(text.replace(/(?<=^| )offline_access(?= |$)/g, ''), ofResource);
  return { scope: names.length > 0 ? scope : scope | DEFAULT, names };
}

/**
 * Returns the names of the resource that a client asks for: all without a scope.
 *
 * @throws OidcError `invalid_scope` if it asks for others alone
 */
export function chooseNames(text = '', ofResource: readonly ResourceScope[]): string[] {
  const known = toNames(ofResource);
  if (text.trim() === '') return known;
  const names = namesIn(text, known);
  if (names.length === 0) throw new OidcError('invalid_scope', { description: 'None of the scopes is known' });
  return names;
}

/** Returns the bits of the request. @throws OidcError `invalid_scope` */
export function narrowScope(
  granted: number,
  requested: string | undefined,
  ofResource: readonly ResourceScope[],
): number {
  if (requested === undefined) return granted;
  const scope = readScope(requested);
  const isNone = scope === 0 && namesIn(requested, toNames(ofResource)).length === 0;
  if (isNone || (scope & ~granted) !== 0) throw new OidcError('invalid_scope');
  return scope;
}

/**
 * Call it for a request that has names of the resource alone, before the refresh token is replaced: a client that hears
 * of an error gets no successor.
 *
 * @throws OidcError `invalid_scope` if the grant has none of the names
 */
export async function requireGrantedName(
  { liveGrants }: { readonly liveGrants: LiveGrants },
  { applicationId, grantId }: RefreshToken,
  requested: string,
): Promise<void> {
  const grant = await liveGrants.find(applicationId, grantId);
  // The refresh itself refuses a grant that has ended.
  if (grant && namesIn(requested, grant.scopeNames ?? []).length === 0) throw new OidcError('invalid_scope');
}
