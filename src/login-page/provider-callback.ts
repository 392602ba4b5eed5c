import type { LoginPageParts } from './login-request.ts';

/** Returns the redirect URI of a provider. Each has one of its own, so that none can answer for another. */
export function callbackOf({ authPageUrl }: Pick<LoginPageParts, 'authPageUrl'>, providerId: string): string {
  return `${authPageUrl}/callback/${providerId}`;
}
