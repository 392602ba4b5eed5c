import { type SQL, sql } from 'drizzle-orm';

/** The application that the account page signs users in to. */
export const ACCOUNT_APPLICATION_ID = '00000000-0000-4000-8000-000000000001';

/** The application that the console signs operators in to. */
export const CONSOLE_APPLICATION_ID = '00000000-0000-4000-8000-000000000002';

/** The applications of Usher itself. Operators neither see nor change them. */
export const OWN_APPLICATION_IDS: readonly string[] = [ACCOUNT_APPLICATION_ID, CONSOLE_APPLICATION_ID];

/** The same as a list in SQL. */
export const ownApplicationIds: SQL = sql.raw(`(${OWN_APPLICATION_IDS.map((id) => `'${id}'`).join(', ')})`);
