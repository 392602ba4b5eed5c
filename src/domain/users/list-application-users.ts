import { and } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { applicationUsers } from '../../database/session-schema.ts';
import type { ApplicationCall } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import {
  maxPageLimit,
  newestFirst,
  type Page,
  pageLimit,
  pageRules,
  readPage,
  startsAfter,
} from '../pages/read-page.ts';
import { check, type Unchecked } from '../validation.ts';
import {
  type ApplicationUser,
  isOfApplication,
  selectApplicationUserBy,
  selectApplicationUsers,
} from './application-user.ts';
import { hasEmail, hasWalletAddress, userFilterRules } from './user-filter.ts';

const rules = { ...userFilterRules, ...pageRules };

/** Returns a page of the users who have signed in to the application. */
export async function listApplicationUsers(
  { application, run }: ApplicationCall,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<ApplicationUser>> {
  const { email, walletAddress, ...page } = check(request, rules);
  return readPage(
    pageTokens,
    ['application users', application.id, email, walletAddress],
    page,
    (position) => {
      const applicationId = application.id;
      if (email !== null) return run(selectByEmail, { applicationId, email, walletAddress });
      if (walletAddress !== null) return run(selectByWallet, { applicationId, walletAddress });
      return run(selectAll, { applicationId, ...position });
    },
    ({ firstSignedInAt, id }) => ({ at: firstSignedInAt, id }),
  );
}

const selectAll: Statement<ApplicationUser[]> = (db) => {
  const { firstSignedInAt, userId } = applicationUsers;
  const page = selectApplicationUsers(db)
    .where(and(isOfApplication, startsAfter(firstSignedInAt, userId)))
    .orderBy(...newestFirst(firstSignedInAt, userId))
    .limit(maxPageLimit)
    .as('page');
  return db
    .select()
    .from(page)
    .orderBy(...newestFirst(page.firstSignedInAt, page.id))
    .limit(pageLimit)
    .prepare('select_users_of_application');
};

// The addresses are unique, so there is one row at most.
const selectByEmail: Statement<ApplicationUser[]> = (db) =>
  selectApplicationUserBy(db, hasEmail()).prepare('select_users_of_application_by_email');

const selectByWallet: Statement<ApplicationUser[]> = (db) =>
  selectApplicationUserBy(db, hasWalletAddress()).prepare('select_users_of_application_by_wallet');
