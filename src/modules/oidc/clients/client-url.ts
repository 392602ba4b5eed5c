/** Client IDs that are the URL of the client's metadata: OAuth Client ID Metadata Document, draft 02, section 3. */

const MAX_LENGTH = 512;

/** Returns whether the client ID claims to be one, so that no application has it. */
export function isClientUrl(clientId: string): boolean {
  return clientId.startsWith('https://');
}

/** Returns undefined unless the client ID is the URL in the spelling that everybody compares. */
export function readClientUrl(clientId: string): URL | undefined {
  if (clientId.length > MAX_LENGTH || !/^https:\/\/[\x21-\x7e]+$/.test(clientId) || /[#\\]/.test(clientId))
    return undefined;
  if (!URL.canParse(clientId)) return undefined;
  const url = new URL(clientId);
  // Without a path, all clients of a site would be one. The parser has resolved dot segments, so `href` lacks them.
  const hasPath = url.pathname !== '/';
  const isPlain = url.username === '' && url.password === '' && url.port === '';
  return isPlain && hasPath && url.href === clientId ? url : undefined;
}
