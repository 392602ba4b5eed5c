import { sql } from 'drizzle-orm';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { type Page, readPage } from '../pages/read-page.ts';
import { foldedEmail } from './same-email.ts';
import { type User, userColumns } from './user.ts';

/** The instant of every page token. The list is ordered by address alone. */
const ANY_TIME = new Date(0);

interface PrefixPage {
  readonly emailPrefix: string;
  readonly pageSize: number | null;
  readonly pageToken: string | null;
}

/** Returns a page of the users whose e-mail address begins with the prefix, in any case, ordered by address. */
export async function listUsersByPrefix(
  { run }: Call,
  tokens: PageTokens,
  { emailPrefix, pageSize, pageToken }: PrefixPage,
): Promise<Page<User>> {
  return readPage(
    tokens,
    ['users by prefix', emailPrefix],
    { pageSize, pageToken },
    ({ afterId, limit }) => run(selectUsersByPrefix, { emailPrefix, afterEmail: afterId ?? '', limit }),
    ({ sortKey }) => ({ at: ANY_TIME, id: sortKey }),
  );
}

const sortKey = foldedEmail(sql`email`);
const prefix = p.text('emailPrefix');

/** The upper bound is the prefix and 254 times U+10FFFF, the last character. An address has at most 254 characters. */
const selectUsersByPrefix = statement('select_users_by_email_prefix', { ...userColumns, sortKey: t.text })`
  select ${columnsOf(userColumns)}, ${sortKey} as sort_key from users
  where deleted_at is null and ${sortKey} >= ${prefix} and ${sortKey} <= ${prefix} || repeat(chr(1114111), 254)
    and ${sortKey} > ${p.text('afterEmail')}
  order by ${sortKey} limit ${p.integer('limit')}`;
