import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Run, Statement } from '../../database/database.ts';
import { apiKeys, applications } from '../../database/schema.ts';
import type { Application } from '../call.ts';

/** The application of a key, which may have been deleted. */
export interface KeyOwner {
  readonly apiKeyId: string;
  readonly expiresAt: Date | null;
  readonly application: Application;
  readonly isDeleted: boolean;
}

/** Takes digests in hex. Returns the owners of those keys that are known and not revoked. */
export async function loadKeyOwners(run: Run, digests: readonly string[]): Promise<Map<string, KeyOwner>> {
  const rows = await run(selectKeyOwners, { digests: `{${digests.join()}}` });
  return new Map(rows.map(({ digest, deletedAt, ...owner }) => [digest, { ...owner, isDeleted: deletedAt !== null }]));
}

type KeyOwnerRow = Omit<KeyOwner, 'isDeleted'> & { digest: string; deletedAt: Date | null };

const selectKeyOwners: Statement<KeyOwnerRow[]> = (db) => {
  const digests = sql`array(select decode(hex, 'hex') from unnest(${sql.placeholder('digests')}::text[]) as hex)`;
  return db
    .select({
      digest: sql<string>`encode(${apiKeys.digest}, 'hex')`,
      apiKeyId: apiKeys.id,
      expiresAt: apiKeys.expiresAt,
      application: {
        id: applications.id,
        name: applications.name,
        clientId: applications.clientId,
        redirectUris: applications.redirectUris,
        sessionMaxAgeSeconds: applications.sessionMaxAgeSeconds,
      },
      deletedAt: applications.deletedAt,
    })
    .from(apiKeys)
    .innerJoin(applications, eq(applications.id, apiKeys.applicationId))
    .where(and(sql`${apiKeys.digest} = any(${digests})`, isNull(apiKeys.revokedAt)))
    .prepare('select_api_key_owners');
};
