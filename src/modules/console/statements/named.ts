/** Finds people, applications and groups by what operators type: names, or their beginning, and addresses. */
import { type SQL, sql } from 'drizzle-orm';
import { toEmailKey } from '../../../config/email-address.ts';
import { p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import { labelOf } from '../../../domain/core/application-label.ts';
import type { Call } from '../../../domain/core/call.ts';

const NAMED = { kind: t.textOf<'user' | 'application' | 'group'>(), id: t.text, name: t.text, detail: t.text };

export type NamedThing = RowOfType<typeof NAMED>;

/** What a field may name: people, applications, or any of them. */
export type Offered = 'user' | 'application' | 'any';

/** Later than any text that begins with the prefix, in the collation of the indexes. */
const LAST = '\u{10ffff}';

/** Returns at most ten people, ten applications and a group whose name or address begins with the text. */
export async function findNamed({ run }: Pick<Call, 'run'>, typed: string): Promise<readonly NamedThing[]> {
  const prefix = typed.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const email = toEmailKey(typed);
  return run(selectNamed, { typed, prefix, until: prefix + LAST, email, emailUntil: email + LAST });
}

const beginsWith = (column: SQL, from: SQL, until: SQL) =>
  sql`lower(${column} collate "C") >= ${from}
    -- Equivalent: comparison: no name has this character, which Unicode reserves
    and lower(${column} collate "C") < ${until}`;
const inOrder = (column: SQL) => sql`order by lower(${column} collate "C") limit 10`;

/** The last host of an application is that of its first redirect URI. */
const selectNamed = statement('select_named', NAMED)`
  select * from (
    (select 'user' as kind, id::text, name, email as detail from users
      where deleted_at is null and ${beginsWith(sql`name`, p.text('prefix'), p.text('until'))}
      ${inOrder(sql`name`)})
    union
    (select 'user', id::text, coalesce(name, email), email from users
      where deleted_at is null and ${beginsWith(sql`email`, p.text('email'), p.text('emailUntil'))} ${inOrder(sql`email`)})
    union all
    (select 'application', id::text, ${labelOf('applications')}, redirect_uris[1] from applications
      where deleted_at is null and ${beginsWith(sql`name`, p.text('prefix'), p.text('until'))} ${inOrder(sql`name`)})
    union all
    select 'group', id::text, name, coalesce(display_name, '') from groups where name = ${p.text('typed')} and deleted_at is null
  ) as named order by kind, name, id`;
