import type { LoginPageParts } from './login-request.ts';

/** Returns the redirect URI of a provider. Each provider has its own, so that no provider can answer for another. */
export function callbackOf({ authPageUrl }: Pick<LoginPageParts, 'authPageUrl'>, providerId: string): string {
  return `${authPageUrl}/callback/${providerId}`;
}
