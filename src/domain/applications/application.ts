import type { RowOf } from '../../database/database.ts';
import { applications } from '../../database/schema.ts';
import { rule } from '../rule.ts';
import { DEFAULT_IDLE_SECONDS } from '../sessions/session.ts';
import { boolean, identifier, integer, listOf, optional } from '../validation.ts';
import { brandingColumns, brandingRules } from './branding.ts';
import { openIdConnectColumns, openIdConnectFlags, openIdConnectRules } from './open-id-connect.ts';
import { redirectUri } from './redirect-uri-rule.ts';

export const applicationColumns = {
  id: applications.id,
  name: applications.name,
  clientId: applications.clientId,
  redirectUris: applications.redirectUris,
  allowSignUp: applications.allowSignUp,
  askName: applications.askName,
  sessionMaxAgeSeconds: applications.sessionMaxAgeSeconds,
  sessionIdleSeconds: applications.sessionIdleSeconds,
  singleSignOn: applications.singleSignOn,
  ...openIdConnectColumns,
  ...brandingColumns,
  createdAt: applications.createdAt,
};

/** An application as operators see it. */
export type ApplicationDetails = RowOf<typeof applicationColumns>;

/** What every application has. */
export const requiredRules = { name: identifier, redirectUris: listOf(redirectUri, { min: 1, max: 50 }) };
/** What an application has unless it says otherwise. */
export const flagRules = { allowSignUp: boolean, askName: boolean, singleSignOn: boolean, ...openIdConnectFlags };
const idleSeconds = integer({ min: DEFAULT_IDLE_SECONDS, max: 90 * 24 * 60 * 60 });
/** Without it, the default applies. */
const sessionIdleSeconds = rule(idleSeconds.schema, (value) => idleSeconds(value ?? DEFAULT_IDLE_SECONDS), {
  isOptional: true,
  isNullable: true,
});

/** What an application may lack. */
export const optionalRules = {
  sessionMaxAgeSeconds: optional(integer({ min: 900, max: 31_536_000 })),
  sessionIdleSeconds,
  ...brandingRules,
  ...openIdConnectRules,
};

const { name, redirectUris, allowSignUp, askName, sessionMaxAgeSeconds, singleSignOn, accentColor } = applications;
const { termsUri, privacyUri, supportUri, initiateLoginUri, loginMethods } = applications;

/** The columns that the operator chooses. */
export const chosenColumns = {
  name,
  redirectUris,
  allowSignUp,
  askName,
  sessionMaxAgeSeconds,
  sessionIdleSeconds: applications.sessionIdleSeconds,
  accentColor,
  termsUri,
  privacyUri,
  supportUri,
  initiateLoginUri,
  loginMethods,
  singleSignOn,
  ...openIdConnectColumns,
};
