import { ServiceError } from '../../../../domain/core/errors.ts';
import { NOTHING_PROVED, requireAccess } from '../../../../domain/login/proved-user.ts';
import { OidcError } from '../oidc-error.ts';
import type { CodeCall } from './redeem-code.ts';

/**
 * Runs a statement only for the client of a resource that is restricted itself. The statement about the session asks
 * whether the user may enter the resource.
 *
 * @throws OidcError `invalid_grant` if the user may not enter the client
 */
export async function requireEntryToClient(call: CodeCall, userId: string): Promise<void> {
  const { client } = call;
  if (!client?.restrictAccess) return;
  try {
    await requireAccess(call, { ...NOTHING_PROVED, applicationId: client.id, userId });
  } catch (error) {
    throw error instanceof ServiceError ? new OidcError('invalid_grant') : error;
  }
}
