/**
 * Returns the path and query of a page of this site. Undefined for anything else, and for a path such as `/.//evil.example`: its
 * normal form `//evil.example` is, as a redirect, the URL of another site.
 */
export function toOwnPath(path: string, origin: string): string | undefined {
  if (!path.startsWith('/') || !isOfOrigin(path, origin)) return undefined;
  const { pathname, search } = new URL(path, origin);
  return isOfOrigin(pathname, origin) ? pathname + search : undefined;
}

function isOfOrigin(path: string, origin: string): boolean {
  return URL.canParse(path, origin) && new URL(path, origin).origin === origin;
}
