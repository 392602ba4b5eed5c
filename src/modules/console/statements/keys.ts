import { apiKeys } from '../../../database/schema/api-key-schema.ts';
import { applications } from '../../../database/schema/schema.ts';
import { DAY_MS } from '../../../database/schema/table-facts.ts';
import { p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import { labelOf } from '../../../domain/core/application-label.ts';
import type { Call } from '../../../domain/core/call.ts';

const SOON_MS = 14 * DAY_MS;

const ENDING = {
  applicationId: apiKeys.applicationId,
  applicationName: applications.name,
  name: apiKeys.name,
  expiresAt: t.instant,
};

export type EndingKey = RowOfType<typeof ENDING>;

/** Returns the API keys that end within 14 days without a successor, at most ten. */
export async function listEndingKeys({ run, now }: Pick<Call, 'run' | 'now'>): Promise<readonly EndingKey[]> {
  return run(selectEndingKeys, { now, until: new Date(now.getTime() + SOON_MS) });
}

const selectEndingKeys = statement('select_ending_api_keys', ENDING)`
  select k.application_id, ${labelOf('a')} as application_name, k.name, k.expires_at
  from api_keys k join applications a on a.id = k.application_id and a.deleted_at is null
  where k.expires_at > ${p.instant('now')} and k.expires_at < ${p.instant('until')}
    and k.revoked_at is null and k.replaced_by is null
  order by k.expires_at limit 10`;
