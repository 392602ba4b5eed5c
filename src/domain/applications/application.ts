import type { RowOf } from '../../database/database.ts';
import { applications } from '../../database/schema.ts';
import { identifier, listOf, textThat } from '../validation.ts';
import { isRegistrable } from './redirect-uri.ts';

export const applicationColumns = {
  id: applications.id,
  name: applications.name,
  clientId: applications.clientId,
  redirectUris: applications.redirectUris,
  allowSignUp: applications.allowSignUp,
  askName: applications.askName,
  sessionMaxAgeSeconds: applications.sessionMaxAgeSeconds,
  sessionIdleSeconds: applications.sessionIdleSeconds,
  createdAt: applications.createdAt,
};

/** An application as operators see it. */
export type ApplicationDetails = RowOf<typeof applicationColumns>;

const redirectUri = textThat(
  isRegistrable,
  'must be absolute https, http on a loopback host, or a private scheme with a dot, without fragment, user information or wildcard',
  { max: 2048, format: 'redirect-uri' },
);

export const applicationRules = { name: identifier, redirectUris: listOf(redirectUri, { min: 1, max: 50 }) };
