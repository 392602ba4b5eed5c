/** An application as a resource of OAuth (RFC 8707): clients other than the application get tokens for it. */
import { randomBytes } from 'node:crypto';
import { applications } from '../../database/schema/schema.ts';
import { isUniqueViolation } from '../../database/sql/errors.ts';
import { ServiceError } from '../core/errors.ts';
import { rule, Unacceptable } from '../core/rule.ts';
import { boolean, listOf, objectOf, optional, orDefault, textThat } from '../core/validation.ts';
import { readScope } from '../grants/scope.ts';

/** The form of client IDs that Usher makes, and that of those in `APPLICATIONS_FILE`. Both may be in OpenID Connect. */
export const CLIENT_ID = /^(?:client_[0-9a-f]{32}|(?!client_|usher-|https|feed_)[a-z0-9][a-z0-9._-]{2,63})$/;

export function newClientId(): string {
  return `client_${randomBytes(16).toString('hex')}`;
}

const { resourceUri, resourceScopes, allowMetadataClients, machineClientIds } = applications;
export const resourceColumns = { resourceUri, resourceScopes, allowMetadataClients, machineClientIds };

export const resourceFlags = { allowMetadataClients: boolean };

const MAX_SCOPES = 50;
/** RFC 6749, section 3.3. */
const SCOPE_NAME = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const uri = textThat(
  isResourceUri,
  'must be an https URL, or http on a loopback host, with its host in lower case, without fragment and user information',
  { max: 2048, format: 'resource-uri' },
);

const name = textThat(
  (text) => SCOPE_NAME.test(text) && readScope(text) === 0,
  'must have no space, quotation mark or backslash, and be none of OpenID Connect',
  { max: 100, format: 'scope-name' },
);
const description = textThat((text) => !/\p{Cc}/u.test(text), 'must not have control characters', {
  max: 100,
  format: 'line',
});
const scopes = listOf(objectOf({ name, description }), { min: 0, max: MAX_SCOPES });
const distinctScopes: typeof scopes = rule(scopes.schema, (value) => {
  const given = scopes(value);
  if (new Set(given.map((scope) => scope.name)).size < given.length) throw new Unacceptable('must have distinct names');
  return given;
});

const MAX_MACHINES = 100;
/** Accepts a client ID of either form. */
export const clientIdRule = textThat((text) => CLIENT_ID.test(text), 'must be a client ID', {
  // Equivalent: limit: the pattern allows no more
  max: 255,
  format: 'client-id',
});

/** The rules of fields that may be missing. */
export const resourceRules = {
  resourceUri: optional(uri),
  resourceScopes: orDefault(distinctScopes, []),
  machineClientIds: orDefault(listOf(clientIdRule, { min: 0, max: MAX_MACHINES }), []),
};

function isResourceUri(text: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes('#') || !URL.canParse(text)) return false;
  const { protocol, hostname, origin } = new URL(text);
  // Nothing stands between the scheme and the host, or between the port and the path.
  if (!text.startsWith(origin) || !/^(?:$|[/?])/.test(text.slice(origin.length))) return false;
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname));
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Two applications must not be the same resource, also not with another number of slashes at the end. */
export function throwResourceTaken(error: unknown): never {
  throw isUniqueViolation(error) ? new ServiceError('RESOURCE_ALREADY_EXISTS') : error;
}
