import { and, isNull, type SQL } from 'drizzle-orm';
import type { Db, Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageRules, readPage, selectPage } from '../pages/read-page.ts';
import { check, type Unchecked } from '../validation.ts';
import { type User, userColumns } from './user.ts';
import { hasEmail, hasWalletAddress, userFilterRules } from './user-filter.ts';

const rules = { ...userFilterRules, ...pageRules };

/** Returns a page of the users that are not deleted. */
export async function listUsers(
  { run }: Call,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<User>> {
  const { email, walletAddress, ...page } = check(request, rules);
  return readPage(
    pageTokens,
    ['users', email, walletAddress],
    page,
    (position) => {
      if (email !== null) return run(selectUsersByEmail, { email, walletAddress });
      if (walletAddress !== null) return run(selectUsersByWallet, { walletAddress });
      return run(selectUsers, position);
    },
    ({ createdAt, id }) => ({ at: createdAt, id }),
  );
}

const order = [users.createdAt, users.id] as const;

const selectUsers: Statement<User[]> = (db) =>
  db
    .select(userColumns)
    .from(selectPage(db, users, order, isNull(users.deletedAt)))
    .orderBy(...newestFirst(...order))
    .prepare('select_users');

// The addresses are unique, so there is one row at most.
const selectUsersByEmail: Statement<User[]> = (db) => selectBy(db, hasEmail()).prepare('select_users_by_email');

const selectUsersByWallet: Statement<User[]> = (db) =>
  selectBy(db, hasWalletAddress()).prepare('select_users_by_wallet');

function selectBy(db: Db, filter: SQL) {
  return db
    .select(userColumns)
    .from(users)
    .where(and(isNull(users.deletedAt), filter));
}
