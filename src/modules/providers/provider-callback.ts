import type { LoginPageParts, Remark } from '../../login-page/offer/login-request.ts';

/** Returns the remark that the provider has refused to tell the address of a person, whom Usher knows nevertheless. */
export function toRemark(detail: string | undefined): Remark | undefined {
  return detail === undefined ? undefined : { reason: 'PROVIDER_UNAVAILABLE', detail };
}

/** Returns the redirect URI of a provider. Each provider has its own, so that no provider can answer for another. */
export function callbackOf({ authPageUrl }: Pick<LoginPageParts, 'authPageUrl'>, providerId: string): string {
  return `${authPageUrl}/callback/${providerId}`;
}
