import { sql } from 'drizzle-orm';
import { users } from '../../database/schema/schema.ts';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import { createList } from '../pages/list.ts';
import { listUsersByPrefix } from './list-users-by-prefix.ts';
import { canonicalFirst, foldedEmail } from './same-email.ts';
import { userColumns } from './user.ts';
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
