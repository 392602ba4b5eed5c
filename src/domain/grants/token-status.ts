import type { Run } from '../../database/pool/database.ts';
import type { ApplicationCall } from '../core/call.ts';
import type { LiveSessions } from '../sessions/live-sessions.ts';

/** What is known of a token, in the form of RFC 7662: instants are in seconds. */
export type TokenStatus =
  | { readonly active: false }
  | {
      readonly active: true;
      readonly iss: string;
      readonly aud: string;
      readonly client_id: string;
      readonly sub: string;
      readonly sid?: string;
      readonly scope: string;
      readonly token_type: string;
      readonly exp: number;
      readonly auth_time?: number;
      readonly acr?: string;
      readonly grant_id?: string;
    };

/** Returns the status of a token for the application of the call. The text may be any. */
export type IntrospectToken = (call: ApplicationCall, token: string) => Promise<TokenStatus>;

/** Lets a protocol look its tokens up. `run` has no deadline: several callers share one read. */
export type CreateIntrospection = (parts: {
  readonly run: Run;
  readonly liveSessions: LiveSessions;
}) => IntrospectToken;
