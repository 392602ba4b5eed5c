import { type SQL, sql } from 'drizzle-orm';
import { applicationUsers } from '../../database/schema/session-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import { createList, ofApplication } from '../pages/list.ts';
import { applicationUserColumns, shownColumns } from './application-user.ts';
import { attributeParameter } from './attributes.ts';
import { canonicalFirst } from './find-user-by-email.ts';
import { hasEmail, hasWalletAddress, userFilterRules } from './list-users.ts';

export const listApplicationUsers = createList('select_users_of_application', {
  name: 'application users',
  of: ofApplication,
  with: ({ application }) => attributeParameter(application),
  rules: userFilterRules,
  columns: applicationUserColumns,
  select: sql`${shownColumns}, first_signed_in_at`,
  order: [applicationUsers.firstSignedInAt, applicationUsers.userId],
  join: sql`join users on users.id = user_id`,
  where: sql`application_id = ${p.uuid('applicationId')} and deleted_at is null`,
  find: ({ email, walletAddress }) => {
    if (email !== null) return selectByEmail;
    return walletAddress === null ? undefined : selectByWallet;
  },
});

const selectByEmail = statement('select_users_of_application_by_email', applicationUserColumns)`
  ${selectBy(hasEmail, sql`order by ${canonicalFirst('email')}`)}`;
const selectByWallet = statement('select_users_of_application_by_wallet', applicationUserColumns)`
  ${selectBy(hasWalletAddress)}`;

/** The addresses are unique, so there is one row at most. Rows of before may have several spellings of one address. */
function selectBy(filter: SQL, order = sql``): SQL {
  return sql`
    select * from (
      -- Not a join: Postgres might begin it with all users of the application.
      select ${shownColumns}, (
        select first_signed_in_at from application_users
        where application_id = ${p.uuid('applicationId')} and user_id = users.id
      ) from users where deleted_at is null and ${filter} ${order} limit 1
    ) as found
    where first_signed_in_at is not null`;
}
