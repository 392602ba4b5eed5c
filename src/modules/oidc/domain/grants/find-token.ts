/** Finds the grants of tokens, and when the tokens expire. */
import { type LiveSessions, MAX_STALENESS_MS } from '../../../../domain/sessions/live-sessions.ts';
import type { AccessToken } from '../tokens/access-token.ts';
import { type ClaimedProfile, chooseUsername } from '../tokens/id-token.ts';
import type { RefreshToken } from '../tokens/refresh-token.ts';
import type { TokenKeys } from '../tokens/token-keys.ts';
import type { LiveGrant, LiveGrants } from './live-grants.ts';

export interface TokenParts {
  readonly liveGrants: LiveGrants;
  readonly liveSessions: LiveSessions;
  readonly tokenKeys: TokenKeys;
}

export interface FoundToken {
  readonly applicationId: string;
  readonly grantId: string;
  readonly grant: LiveGrant;
  readonly scope: number;
  readonly expiresAt: Date;
}

export interface FoundAccessToken extends FoundToken {
  readonly profile: ClaimedProfile;
}

/**
 * Returns undefined unless the session and the grant of the access token are live, and its client may still get tokens.
 * The answer is at most 5 seconds old.
 */
export async function findAccessToken(
  { liveGrants, liveSessions }: TokenParts,
  { applicationId, sessionId, grantId, scope }: AccessToken,
  now: Date,
): Promise<FoundAccessToken | undefined> {
  const [session, grant] = await Promise.all([
    liveSessions.find(applicationId, sessionId, MAX_STALENESS_MS),
    liveGrants.find(applicationId, grantId),
  ]);
  if (!session || !grant?.isAllowed || session.expiresAt <= now || grant.expiresAt <= now) return undefined;
  const profile = { ...grant, groups: session.groups, preferredUsername: chooseUsername(grant, grant.clientId) };
  const expiresAt = new Date(Math.min(session.expiresAt.getTime(), grant.expiresAt.getTime()));
  return { applicationId, grantId, grant, scope, expiresAt, profile };
}

/**
 * Returns undefined unless the grant of the refresh token is live, the token is the latest one of its grant, and its
 * client may still get tokens.
 */
export async function findRefreshToken(
  { liveGrants }: TokenParts,
  token: RefreshToken,
  now: Date,
): Promise<FoundToken | undefined> {
  const { applicationId, grantId, scope } = token;
  const known = await liveGrants.find(applicationId, grantId);
  // Another replica may have replaced the token meanwhile.
  const isOld = known !== undefined && known.rotation < token.rotation;
  const grant = isOld ? await liveGrants.read(applicationId, grantId) : known;
  if (!grant?.isAllowed || grant.rotation !== token.rotation) return undefined;
  if (grant.expiresAt <= now || token.endsAt <= now) return undefined;
  return { applicationId, grantId, grant, scope, expiresAt: token.endsAt };
}
