import { toListedDomain } from '../../config/email-domains.ts';
import type { RowOf } from '../../database/pool/database.ts';
import { applications, DEFAULT_IDLE_SECONDS } from '../../database/schema/schema.ts';
import { ONE_FACTOR, requiredAssuranceRule } from '../core/assurance.ts';
import { invalidField } from '../core/errors.ts';
import { type Rule, rule } from '../core/rule.ts';
import { boolean, identifier, integer, listOf, optional, orDefault, textThat } from '../core/validation.ts';
import { attributeClaimsRule } from '../users/attributes.ts';
import { brandingColumns, brandingRules, chosenBrandingColumns, webRedirectUri } from './branding.ts';
import { redirectUri } from './redirect-uri.ts';
import { resourceColumns, resourceFlags, resourceRules } from './resource.ts';

const { id, clientId, name, redirectUris, allowSignUp, askName, singleSignOn, openIdConnect, deviceLogin, createdAt } =
  applications;
const { declaredByFile } = applications;
const { messageFeed } = applications;
const { sessionMaxAgeSeconds, sessionIdleSeconds, signUpEmailDomains, allowInvitations } = applications;
const { restrictAccess, requiredAssurance, attributeClaims } = applications;
const { requirePkce, publicClient, postLogoutRedirectUris, backchannelLogoutUri } = applications;
const sessionColumns = {
  sessionMaxAgeSeconds,
  sessionIdleSeconds,
  singleSignOn,
  restrictAccess,
  requiredAssurance,
  attributeClaims,
};

/** The columns of the calling application that its calls need. */
export const callerColumns = { id, name, clientId, redirectUris, openIdConnect, deviceLogin, ...sessionColumns };

const ownColumns = {
  name,
  redirectUris,
  allowSignUp,
  signUpEmailDomains,
  allowInvitations,
  askName,
  messageFeed,
  ...sessionColumns,
  ...{ openIdConnect, requirePkce, publicClient, deviceLogin, postLogoutRedirectUris, backchannelLogoutUri },
  ...resourceColumns,
};
/** The columns that operators set. */
export const chosenColumns = { ...ownColumns, ...chosenBrandingColumns };
export const applicationColumns = { id, clientId, ...ownColumns, ...brandingColumns, declaredByFile, createdAt };

/** An application as operators see it. */
export type ApplicationDetails = RowOf<typeof applicationColumns>;

/** The rules of fields that every application must have. */
export const requiredRules = { name: identifier, redirectUris: listOf(redirectUri, { min: 1, max: 50 }) };
/** The rules of flags. A new application may omit them. */
export const flagRules = {
  allowSignUp: boolean,
  allowInvitations: boolean,
  askName: boolean,
  singleSignOn: boolean,
  restrictAccess: boolean,
  messageFeed: boolean,
  openIdConnect: boolean,
  requirePkce: boolean,
  publicClient: boolean,
  deviceLogin: boolean,
  ...resourceFlags,
};
const idleSeconds = integer({ min: DEFAULT_IDLE_SECONDS, max: 90 * 24 * 60 * 60 });

const emailDomain = textThat((text) => toListedDomain(text) !== undefined, 'must be a domain such as example.com', {
  // Equivalent: limit: a domain has at most 253
  max: 255,
  format: 'email-domain',
});
const emailDomains = listOf(emailDomain, { min: 0, max: 100 });
/** Stores each domain once, in the spelling in which it is compared. */
const distinctDomains: Rule<string[]> = rule(emailDomains.schema, (value) => [
  ...new Set(emailDomains(value).map((domain) => toListedDomain(domain) as string)),
]);

/** The rules of fields that may be missing. */
export const optionalRules = {
  sessionMaxAgeSeconds: optional(integer({ min: 900, max: 31_536_000 })),
  signUpEmailDomains: orDefault(distinctDomains, []),
  attributeClaims: orDefault(attributeClaimsRule, []),
  requiredAssurance: orDefault(requiredAssuranceRule, ONE_FACTOR),
  sessionIdleSeconds: orDefault(idleSeconds, DEFAULT_IDLE_SECONDS),
  ...brandingRules,
  postLogoutRedirectUris: orDefault(listOf(redirectUri, { min: 0, max: 50 }), []),
  backchannelLogoutUri: optional(webRedirectUri),
  ...resourceRules,
};

/** Returns whether the name is a login method of Usher or a provider in the settings. */
export type IsKnownMethod = (name: string) => boolean;

/**
 * Refuses unknown login methods: a misspelt name would hide a login method from every user.
 *
 * @throws ServiceError `Validation failed`
 */
export function requireKnownMethods(methods: readonly string[], isKnown: IsKnownMethod = () => true): void {
  if (!methods.every(isKnown)) throw invalidField('loginMethods', 'must be methods of Usher or listed providers');
}
