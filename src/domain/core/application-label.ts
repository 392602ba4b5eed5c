import { type SQL, sql } from 'drizzle-orm';

/** The host of the first redirect URI. Null for the private scheme of an app. */
const hostOf = (alias: SQL) => sql`substring(${alias}.redirect_uris[1] from '^https?://([^/?#]+)')`;

/**
 * Returns the name of an application as people and operators see it. Only if another one has the same name, its host
 * follows, or else the end of its client ID: hosts may be the same, too. This is one lookup in the index of names.
 */
export function labelOf(alias: 'a' | 'applications'): SQL {
  const own = sql.raw(alias);
  return sql`${own}.name || coalesce((
    select ' (' || coalesce(case when bool_and(${hostOf(sql`o`)} is distinct from ${hostOf(own)}) then ${hostOf(own)} end,
      '…' || right(${own}.client_id, 6)) || ')'
    from applications o
    where lower(o.name collate "C") = lower(${own}.name collate "C") and o.deleted_at is null and o.id <> ${own}.id
    having count(*) > 0), '')`;
}
