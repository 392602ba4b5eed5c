/** Decides which redirect URIs an application may register, and which match a registered one. */
import { type SQL, sql } from 'drizzle-orm';
import { textThat } from '../core/validation.ts';

const LOOPBACK_HTTP = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:[/?]|$)/;
const LOOPBACK_IP_ORIGIN = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::(\d{1,5}))?(?=[/?]|$)/;
const LOCALHOST_ORIGIN = /^(http:\/\/localhost)(?::(\d{1,5}))?(?=[/?]|$)/;
/** RFC 8252, section 7.1: a private scheme is a reversed domain name. */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:/i;

/**
 * Returns whether an application may register the URI: absolute https, http on a loopback host, or a private
 * scheme; without fragment, user information or wildcard (RFC 9700, section 2.1).
 */
export function isRegistrable(uri: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(uri) || /[#*\\]/.test(uri) || !URL.canParse(uri)) return false;
  const authority = /^[^:]+:\/\/([^/?]*)/.exec(uri)?.[1];
  if (authority?.includes('@')) return false;
  if (PRIVATE_SCHEME.test(uri)) return true;
  if (!authority) return false;
  return uri.startsWith('https://') || LOOPBACK_HTTP.test(uri);
}

/**
 * Returns whether the URI is registered, byte for byte (RFC 9700, section 4.1.3). For http on 127.0.0.1 and
 * [::1] any port matches, since native applications take a free one (RFC 8252, section 7.3). For a public client so it
 * does on localhost, which many of them use although a resolver could send it elsewhere.
 */
export function isRegistered(
  uri: string,
  registered: readonly string[],
  { isPublic }: { readonly isPublic: boolean } = { isPublic: false },
): boolean {
  if (registered.includes(uri)) return true;
  const portless = withoutLoopbackPort(uri, isPublic);
  return (
    portless !== undefined && registered.some((candidate) => withoutLoopbackPort(candidate, isPublic) === portless)
  );
}

/**
 * Returns the condition that the redirect URI of a login intent is still registered, as `isRegistered` compares. It
 * holds for logins that lead elsewhere: to a device, to a client other than the application, or to Usher's own pages,
 * which register none. An update of distributed tables takes no function of columns that is only stable, as
 * `array_to_string` is.
 *
 * @param intent the row of `login_intents`
 * @param application the row of `applications`
 */
export function isStillRegistered(intent: SQL, application: SQL): SQL {
  const [uri, registered] = [sql`${intent}.redirect_uri`, sql`${application}.redirect_uris`];
  const hosts = sql`case when ${application}.public_client then 'localhost|' else '' end || '127\\.0\\.0\\.1|\\[::1\\]'`;
  const withoutPort = (text: SQL) =>
    sql`regexp_replace(${text}, '^(http://(?:' || ${hosts} || ')):\\d{1,5}(?=[/?]|$)', '\\1')`;
  return sql`(
      -- Equivalent: disjunct: the last one says the same, at a higher cost
      ${uri} = any(${registered})
      or ${uri} = '' or ${registered} = '{}' or ${intent}.client_id is not null
      or exists (select 1 from unnest(${registered}) as each where ${withoutPort(sql`each`)} = ${withoutPort(uri)}))`;
}

const PARTS = ['protocol', 'hostname', 'port', 'pathname', 'search'] as const;

/** Says for the log in which parts a refused URI differs from the registered one that is most like it. */
export function describeDifference(uri: string, registered: readonly string[]): string {
  if (!URL.canParse(uri)) return 'is no absolute URL';
  const differences = registered.map((each) => {
    const [given, known] = [new URL(uri), new URL(each)];
    return PARTS.filter((part) => given[part] !== known[part]);
  });
  const [fewest] = differences.sort((one, other) => one.length - other.length);
  return fewest ? `differs in ${fewest.join(', ') || 'its spelling'}` : 'no redirect URI is registered';
}

function withoutLoopbackPort(uri: string, isPublic: boolean): string | undefined {
  const match = LOOPBACK_IP_ORIGIN.exec(uri) ?? (isPublic ? LOCALHOST_ORIGIN.exec(uri) : null);
  if (!match || Number(match[2]) > 65_535) return undefined;
  return match[1] + uri.slice(match[0].length);
}

/** Returns the URI with the parameters added to its query. The rest of the URI stays as registered. */
export function addToQuery(uri: string, parameters: Record<string, string>): string {
  const separator = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&';
  return uri + separator + new URLSearchParams(parameters);
}

/** Accepts a URI that an application may register. */
export const redirectUri = textThat(
  isRegistrable,
  'must be absolute https, http on a loopback host, or a private scheme with a dot, without fragment, user information or wildcard',
  { max: 2048, format: 'redirect-uri' },
);
