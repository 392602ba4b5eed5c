/** Returns whether one of the redirect URIs has this origin. Pages of the origin then belong to that client. */
export function isOriginOf(origin: string, redirectUris: readonly string[]): boolean {
  const portless = withoutLoopbackPort(origin);
  return redirectUris.some((uri) => {
    const own = originOf(uri);
    return own === origin || (portless !== undefined && withoutLoopbackPort(own) === portless);
  });
}

/** Returns an empty string for private schemes. Their origin is `null`, and so is that of every sandboxed page. */
function originOf(uri: string): string {
  return /^https?:/i.test(uri) ? new URL(uri).origin : '';
}

/** Returns undefined for other hosts. Redirect URIs of public clients match any port on a loopback host. */
function withoutLoopbackPort(origin: string): string | undefined {
  return /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?$/.exec(origin)?.[1];
}
