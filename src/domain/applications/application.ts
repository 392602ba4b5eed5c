import { applications } from '../../database/schema.ts';
import type { Application } from '../call.ts';
import { identifier, listOf, textThat } from '../validation.ts';
import { isRegistrable } from './redirect-uri.ts';

/** An application as operators see it. */
export interface ApplicationDetails extends Application {
  readonly allowSignUp: boolean;
  readonly askName: boolean;
  /** Null where the setting `SESSION_MAX_AGE` holds. */
  readonly sessionMaxAgeSeconds: number | null;
  readonly createdAt: Date;
}

export const applicationColumns = {
  id: applications.id,
  name: applications.name,
  clientId: applications.clientId,
  redirectUris: applications.redirectUris,
  allowSignUp: applications.allowSignUp,
  askName: applications.askName,
  sessionMaxAgeSeconds: applications.sessionMaxAgeSeconds,
  createdAt: applications.createdAt,
};

const redirectUri = textThat(
  isRegistrable,
  'must be absolute https, http on a loopback host, or a private scheme with a dot, without fragment, user information or wildcard',
  { max: 2048, format: 'redirect-uri' },
);

export const applicationRules = { name: identifier, redirectUris: listOf(redirectUri, { min: 1, max: 50 }) };
