import { sql } from 'drizzle-orm';
import { users } from '../../database/schema.ts';
import { columnsOf, statement } from '../../database/template.ts';
import { createList } from '../pages/list.ts';
import { userColumns } from './user.ts';
import { hasEmail, hasWalletAddress, userFilterRules } from './user-filter.ts';

/** Returns a page of the users that are not deleted. */
export const listUsers = createList('select_users', {
  name: 'users',
  rules: userFilterRules,
  columns: userColumns,
  order: [users.createdAt, users.id],
  where: sql`deleted_at is null`,
  find: ({ email, walletAddress }) => {
    if (email !== null) return selectUserWithEmail;
    return walletAddress === null ? undefined : selectUserWithWallet;
  },
});

// The addresses are unique, so there is one row at most.
const selectUserWithEmail = statement('select_users_by_email', userColumns)`
  select ${columnsOf(userColumns)} from users where deleted_at is null and ${hasEmail}`;

const selectUserWithWallet = statement('select_users_by_wallet', userColumns)`
  select ${columnsOf(userColumns)} from users where deleted_at is null and ${hasWalletAddress}`;
