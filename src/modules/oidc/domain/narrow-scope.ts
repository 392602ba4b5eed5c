/** The scope of a refresh, which must be a part of the granted one: RFC 6749, section 6. */
import type { ResourceScope } from '../../../database/column-types.ts';
import { readScope } from '../../../domain/grants/scope.ts';
import type { LiveGrants } from './live-grants.ts';
import { OidcError } from './oidc-error.ts';
import type { RefreshToken } from './refresh-token.ts';
import { namesIn, toNames } from './scope-names.ts';

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
