import { sql } from 'drizzle-orm';
import { users } from '../../database/schema/schema.ts';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { createList } from '../pages/list.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { type Page, readPage } from '../pages/read-page.ts';
import { canonicalFirst, foldedEmail } from './same-email.ts';
import { type User, userColumns } from './user.ts';
import { emailPrefixRule, hasEmail, hasWalletAddress, userFilterRules } from './user-filter.ts';

const rules = { ...userFilterRules, emailPrefix: emailPrefixRule };

/** Returns a page of the users that are not deleted. With `emailPrefix`, the page is ordered by e-mail address. */
export const listUsers = createList('select_users', {
  name: 'users',
  rules,
  columns: userColumns,
  order: [users.createdAt, users.id],
  where: sql`deleted_at is null`,
  listOtherwise: (call, tokens, { email, emailPrefix, walletAddress, ...page }) => {
    const hasAddress = email !== null || walletAddress !== null;
    return emailPrefix === null || hasAddress ? undefined : listUsersByPrefix(call, tokens, { emailPrefix, ...page });
  },
  find: ({ email, walletAddress }) => {
    if (email !== null) return selectUsersByEmail;
    return walletAddress === null ? undefined : selectUsersByWallet;
  },
});

const hasPrefix = sql`
  (${p.text('emailPrefix')} is null or starts_with(${foldedEmail(sql`email`)}, ${p.text('emailPrefix')}))`;

// Rows from before Usher stored A-labels may have several spellings of one address.
const selectUsersByEmail = statement('select_users_by_email', userColumns)`
  select ${columnsOf(userColumns)} from users where deleted_at is null and ${hasEmail} and ${hasPrefix}
  order by ${canonicalFirst('email')} limit 1`;

const selectUsersByWallet = statement('select_users_by_wallet', userColumns)`
  select ${columnsOf(userColumns)} from users where deleted_at is null and ${hasWalletAddress} and ${hasPrefix}`;

/** The instant of every page token. The list is ordered by address alone. */
const ANY_TIME = new Date(0);

interface PrefixPage {
  readonly emailPrefix: string;
  readonly pageSize: number | null;
  readonly pageToken: string | null;
}

/** Returns a page of the users whose e-mail address begins with the prefix, in any case, ordered by address. */
async function listUsersByPrefix(
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
