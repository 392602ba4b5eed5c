/** Returns whether a page of the origin belongs to a public client: one of its redirect URIs has that origin. */
export function isOriginOf(origin: string, redirectUris: readonly string[]): boolean {
  const portless = withoutLoopbackPort(origin);
  return redirectUris.some((uri) => {
    const own = originOf(uri);
    return own === origin || (portless !== undefined && withoutLoopbackPort(own) === portless);
  });
}

/** Private schemes have the origin `null`, which every sandboxed page has. */
function originOf(uri: string): string {
  return /^https?:/i.test(uri) ? new URL(uri).origin : '';
}

/** Redirect URIs on a loopback address match with any port (RFC 8252, section 7.3). */
function withoutLoopbackPort(origin: string): string | undefined {
  return /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?$/.exec(origin)?.[1];
}
