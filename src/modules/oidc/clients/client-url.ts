/** Client IDs that are the URL of the client's metadata: OAuth Client ID Metadata Document, draft 02, section 3. */

const MAX_LENGTH = 512;
/** In characters. Most URLs have fewer than 100. */
const MAX_LOGGED = 300;

/** Returns whether the client ID claims to be one, so that no application has it. */
export function isClientUrl(clientId: string): boolean {
  return clientId.startsWith('https://');
}

/** Returns the URL, or why the client ID is none in the spelling that everybody compares. */
export function readClientUrl(clientId: string): { readonly url: URL } | { readonly problem: string } {
  if (clientId.length > MAX_LENGTH) return { problem: `it is longer than ${MAX_LENGTH} characters` };
  if (!/^https:\/\/[\x21-\x7e]+$/.test(clientId) || !URL.canParse(clientId)) return { problem: 'it is no https URL' };
  const url = new URL(clientId);
  if (url.port !== '') return { problem: `it has the port ${url.port}` };
  if (url.username !== '' || url.password !== '') return { problem: 'it has a user name or a password' };
  if (/[#\\]/.test(clientId)) return { problem: 'it has a fragment or a backslash' };
  // Without a path, all clients of a site would be one.
  if (url.pathname === '/') return { problem: 'it has no path' };
  // The parser has resolved dot segments and left out the port 443, so `href` lacks them.
  if (url.href !== clientId) return { problem: 'a URL parser writes it otherwise' };
  return { url };
}

/** Returns why Usher refuses a client, for the log. */
export function describeRefusal(clientId: string, problem: string): string {
  const host = URL.canParse(clientId) ? `host ${new URL(clientId).host}, ` : '';
  return `client refused, ${problem} (${host}client_id ${toLogged(clientId)})`;
}

/** Returns a URL for the log: cut, and without a password or the values of its query. */
export function toLogged(url: string): string {
  const known = url.replace(/\/\/[^/?#@]*@/, '//…@').replace(/=[^&#]*/g, '=…');
  return known.slice(0, MAX_LOGGED);
}
