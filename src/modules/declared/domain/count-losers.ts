import type { Run } from '../../../database/pool/database.ts';
import { p, statement, t } from '../../../database/sql/template.ts';

/** A narrowed access: who has signed in, and may not enter any more. */
export interface Losers {
  readonly applicationId: string;
  readonly wasRestricted: boolean;
  /** The groups that let people in. */
  readonly groupIds: readonly string[];
}

/** Returns how many people lose the access. */
export async function countLosers(run: Run, losers: Losers): Promise<number> {
  return (await run(selectLosers, { ...losers }))[0]?.people ?? 0;
}

const selectLosers = statement('count_access_losers', { people: t.integer })`
  select count(*)::int as people from application_users u
  where u.application_id = ${p.uuid('applicationId')}
    and (not ${p.boolean('wasRestricted')} or exists (
      select 1 from application_groups g join group_members m on m.group_id = g.group_id
      where g.application_id = ${p.uuid('applicationId')} and g.allows_access and m.user_id = u.user_id))
    and not exists (
      select 1 from added_users x where x.application_id = ${p.uuid('applicationId')} and x.user_id = u.user_id)
    and not exists (
      select 1 from group_members m where m.group_id = any(${p.uuids('groupIds')}) and m.user_id = u.user_id)`;
