import { sql } from 'drizzle-orm';
import { applications } from '../../database/schema.ts';
import { ACCOUNT_APPLICATION_ID } from '../account/account-application.ts';
import { createList } from '../pages/list.ts';
import { applicationColumns } from './application.ts';

/** Returns a page of the applications that are not deleted. */
export const listApplications = createList('select_applications', {
  name: 'applications',
  columns: applicationColumns,
  order: [applications.createdAt, applications.id],
  where: sql`deleted_at is null and id <> ${sql.raw(`'${ACCOUNT_APPLICATION_ID}'`)}`,
});
