/** The session IDs of OpenID Connect, which stand for browsers. */
import { createHash } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { toUuid } from '../../encoding/uuid-bytes.ts';

/**
 * Returns an identifier of a browser that differs for every application and user, so that nobody can correlate
 * browsers.
 */
export function sidOf(applicationId: string, userId: string, browserDigest: Buffer): string {
  const digest = createHash('sha256').update(`${applicationId}/${userId}/`).update(browserDigest).digest();
  return toUuid(digest.subarray(0, 16));
}

/**
 * Returns the result of `sidOf` in SQL, or null if there is no digest. All functions are immutable, as those on columns
 * of an update must be.
 */
export function computeSid(applicationId: SQL, userId: SQL, browserDigest: SQL): SQL {
  return sql`encode(substring(sha256(
    (${applicationId}::text || '/' || ${userId}::text || '/')::bytea || ${browserDigest}) for 16), 'hex')::uuid`;
}
