import type { RowOf } from '../../database/database.ts';
import { applications } from '../../database/schema.ts';
import { rule } from '../rule.ts';
import { DEFAULT_IDLE_SECONDS } from '../sessions/session.ts';
import { boolean, identifier, integer, listOf, optional } from '../validation.ts';
import { brandingColumns, brandingRules, chosenBrandingColumns } from './branding.ts';
import { openIdConnectColumns, openIdConnectFlags, openIdConnectRules } from './open-id-connect.ts';
import { redirectUri } from './redirect-uri-rule.ts';

const { id, clientId, name, redirectUris, allowSignUp, askName, singleSignOn, openIdConnect, createdAt } = applications;
const { sessionMaxAgeSeconds, sessionIdleSeconds } = applications;
const sessionColumns = { sessionMaxAgeSeconds, sessionIdleSeconds, singleSignOn };

/** What calls need of the application that makes them. */
export const callerColumns = { id, name, clientId, redirectUris, openIdConnect, ...sessionColumns };

const ownColumns = { name, redirectUris, allowSignUp, askName, ...sessionColumns, ...openIdConnectColumns };
/** The columns that the operator chooses. */
export const chosenColumns = { ...ownColumns, ...chosenBrandingColumns };
export const applicationColumns = { id, clientId, ...ownColumns, ...brandingColumns, createdAt };

/** An application as operators see it. */
export type ApplicationDetails = RowOf<typeof applicationColumns>;

/** What every application has. */
export const requiredRules = { name: identifier, redirectUris: listOf(redirectUri, { min: 1, max: 50 }) };
/** What an application has unless it says otherwise. */
export const flagRules = { allowSignUp: boolean, askName: boolean, singleSignOn: boolean, ...openIdConnectFlags };
const idleSeconds = integer({ min: DEFAULT_IDLE_SECONDS, max: 90 * 24 * 60 * 60 });
/** Without it, the default applies. */
const idleSecondsOrDefault = rule(idleSeconds.schema, (value) => idleSeconds(value ?? DEFAULT_IDLE_SECONDS), {
  isOptional: true,
  isNullable: true,
});

/** What an application may lack. */
export const optionalRules = {
  sessionMaxAgeSeconds: optional(integer({ min: 900, max: 31_536_000 })),
  sessionIdleSeconds: idleSecondsOrDefault,
  ...brandingRules,
  ...openIdConnectRules,
};
