/**
 * The application that the account page signs users in to. A migration has created it. Its row has no API key and no
 * redirect URI. Lists of applications omit it, and operators cannot change or delete it.
 */
import type { Application } from '../../../domain/core/call.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../domain/core/own-applications.ts';

export const ACCOUNT_CLIENT_ID = 'usher-account';

/** Returns the application with its only redirect URI, which depends on the public URL. */
export function accountApplication(returnUrl: string): Application {
  return {
    id: ACCOUNT_APPLICATION_ID,
    name: 'Your account',
    clientId: ACCOUNT_CLIENT_ID,
    redirectUris: [returnUrl],
  };
}
