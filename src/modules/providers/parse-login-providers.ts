/** Parses `LOGIN_PROVIDERS_FILE`. Errors name the entry and the field, and quote no value: the file holds secrets. */
import { toDomainKey } from '../../config/email-address.ts';
import { isOwnMethod, OWN_METHODS, PROVIDER_ID } from '../../config/login-methods.ts';
import { findRepeatedName } from '../../encoding/json.ts';
import { ASSURANCE_RULE, type AssuranceTable, isAssuranceTable, isStepUp, STEP_UP_RULE } from './assurance-table.ts';

/** The settings of an identity provider at which the operator has registered Usher. */
export interface LoginProvider {
  /** Part of the path of the callback, and the method of sign-ins at the provider. */
  readonly id: string;
  /** The label of its button. */
  readonly name: string;
  readonly type: 'openid' | 'github';
  /** Must equal `iss`, byte for byte. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether an address that the provider has verified signs its user in without a code. */
  readonly trustEmail: boolean;
  /** The domains of `trustEmail`, in any spelling. Addresses of other domains need a code. Empty for all domains. */
  readonly emailDomains: readonly string[];
  /** Undefined: as the metadata of the provider say. */
  readonly tokenEndpointAuthMethod?: TokenEndpointAuthMethod | undefined;
  /** Undefined: a sign-in there has one factor. */
  readonly assurance?: AssuranceTable | undefined;
  /** Parameters of the authorization request that make the provider ask for a second factor. */
  readonly stepUp?: Readonly<Record<string, string>> | undefined;
}

const TOKEN_ENDPOINT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post'] as const;

/** How the client secret is sent, in the words of OpenID Connect. */
export type TokenEndpointAuthMethod = (typeof TOKEN_ENDPOINT_AUTH_METHODS)[number];

const FIELDS = [
  'id',
  'name',
  'type',
  'issuer',
  'clientId',
  'clientSecret',
  'trustEmail',
  'emailDomains',
  'tokenEndpointAuthMethod',
  'assurance',
  'stepUp',
];
/** More buttons do not fit on the login page. */
const MAX_PROVIDERS = 20;
const GITHUB_ISSUER = 'https://github.com/login/oauth';

/** Returns the providers in the order of the file. @throws Error whose message continues the name of the setting */
export function parseLoginProviders(text: string): readonly LoginProvider[] {
  const entries = parseJson(text);
  if (!Array.isArray(entries) || entries.length > MAX_PROVIDERS)
    throw new Error(`must hold a JSON array of at most ${MAX_PROVIDERS} providers`);
  if (findRepeatedName(text) !== undefined) throw new Error('must not have a field twice');
  const providers = entries.map((entry, index) => parseProvider(entry, `entry ${index + 1}`));
  requireDifferent(
    providers.map(({ id }) => id),
    'id',
  );
  // A user's identity is stored as issuer and subject, without the provider.
  requireDifferent(
    providers.map(({ issuer }) => issuer),
    'issuer',
  );
  return providers;
}

function parseProvider(entry: unknown, place: string): LoginProvider {
  if (typeof entry !== 'object' || entry === null) throw new Error(`${place} must be an object`);
  const given: Readonly<Record<string, unknown>> = { type: 'openid', trustEmail: false, emailDomains: [], ...entry };
  if (Object.keys(given).some((field) => !FIELDS.includes(field))) throw new Error(`${place} has an unknown field`);
  const require = (isValid: boolean, problem: string) => {
    if (!isValid) throw new Error(`${place}: ${problem}`);
  };
  const { id, name, type, clientId, clientSecret, trustEmail, emailDomains } = given;
  require(type === 'openid' || type === 'github', 'type must be openid or github');
  const issuer = given.issuer ?? (type === 'github' ? GITHUB_ISSUER : undefined);
  require(isText(id, PROVIDER_ID), 'id must begin with a letter and have at most 31 characters of a-z, 0-9 and -');
  require(!isOwnMethod(String(id)), `id must not be one of ${Object.keys(OWN_METHODS).join(', ')}`);
  require(isText(name, /^[^\p{C}\p{Z}](?:[^\p{C}]{0,38}[^\p{C}\p{Z}])?$/u), 'name must have 1 to 40 characters');
  require(isIssuer(issuer), 'issuer must be an https URL, or http on this machine, without query, fragment or user');
  require(isText(clientId, /^[\x21-\x7e]{1,500}$/), 'clientId must have 1 to 500 characters without spaces');
  require(isText(clientSecret, /^[\x21-\x7e]{1,2000}$/), 'clientSecret must have 1 to 2,000 characters without spaces');
  require(typeof trustEmail === 'boolean', 'trustEmail must be true or false');
  const areDomains = Array.isArray(emailDomains) && emailDomains.every(isDomain);
  require(areDomains, 'emailDomains must be domains such as example.com');
  const method = given.tokenEndpointAuthMethod;
  const isMethod = method === undefined || (TOKEN_ENDPOINT_AUTH_METHODS as readonly unknown[]).includes(method);
  require(isMethod, `tokenEndpointAuthMethod must be ${TOKEN_ENDPOINT_AUTH_METHODS.join(' or ')}`);
  const { assurance, stepUp } = given;
  require(assurance === undefined || isAssuranceTable(assurance), ASSURANCE_RULE);
  require(stepUp === undefined || (isStepUp(stepUp) && assurance !== undefined), STEP_UP_RULE);
  for (const [field, value] of Object.entries({ tokenEndpointAuthMethod: method, assurance, stepUp }))
    require(value === undefined || type === 'openid', `${field} is for the type openid only`);
  return { ...given, issuer } as unknown as LoginProvider;
}

const DOMAIN = /^(?=.{1,253}$)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+$/;

function isDomain(value: unknown): boolean {
  return typeof value === 'string' && DOMAIN.test(toDomainKey(value));
}

function isText(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function isIssuer(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value) || /[?#]/.test(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isLoopback = /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname);
  return !username && !password && (protocol === 'https:' || (protocol === 'http:' && isLoopback));
}

function requireDifferent(values: readonly string[], field: string): void {
  if (new Set(values).size < values.length) throw new Error(`must not hold two providers with the same ${field}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
