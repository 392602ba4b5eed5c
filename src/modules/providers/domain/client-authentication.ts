/** How Usher sends its client secret to the token endpoint of a provider. */
import * as openid from 'openid-client';
import type { LoginProvider, TokenEndpointAuthMethod } from '../parse-login-providers.ts';

/**
 * Returns the method of the file, or else one that the provider lists. Providers that list none support Basic (OpenID
 * Connect Discovery). If both are listed, the body is safer: there are several ways to encode a secret for Basic.
 */
export function chooseAuthMethod(
  { tokenEndpointAuthMethod }: LoginProvider,
  { token_endpoint_auth_methods_supported: listed }: openid.ServerMetadata,
): TokenEndpointAuthMethod {
  if (tokenEndpointAuthMethod) return tokenEndpointAuthMethod;
  return listed?.includes('client_secret_post') ? 'client_secret_post' : 'client_secret_basic';
}

/** Returns the authentication for the library, which decides when the metadata are known. */
export function authenticateClient(provider: LoginProvider): openid.ClientAuth {
  const inBody = openid.ClientSecretPost(provider.clientSecret);
  return (server, client, body, headers) => {
    const method = chooseAuthMethod(provider, server);
    if (method === 'client_secret_post') return inBody(server, client, body, headers);
    const credentials = `${encode(provider.clientId)}:${encode(provider.clientSecret)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

/**
 * Encodes as forms do (RFC 6749, section 2.3.1). The library also encodes `-`, `.` and `_`, which providers that do not
 * decode would refuse.
 */
function encode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
