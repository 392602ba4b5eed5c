/**
 * The application that the console signs operators in to. A migration has created it. It has no API key and allows no
 * sign-up. Lists of applications omit it, and operators cannot change or delete it.
 */
import type { Application } from '../../../domain/core/call.ts';
import { CONSOLE_APPLICATION_ID } from '../../../domain/core/own-applications.ts';

export const CONSOLE_CLIENT_ID = 'usher-console';

/** How long after a sign-in an operator may use the console. */
export const CONSOLE_MAX_AGE_SECONDS = 8 * 60 * 60;

/** Returns the application with its only redirect URI, which depends on the URL of the console. */
export function consoleApplication(redirectUri: string): Application {
  return {
    id: CONSOLE_APPLICATION_ID,
    name: 'Usher console',
    clientId: CONSOLE_CLIENT_ID,
    redirectUris: [redirectUri],
    sessionMaxAgeSeconds: CONSOLE_MAX_AGE_SECONDS,
  };
}
