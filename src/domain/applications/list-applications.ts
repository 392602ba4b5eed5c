import { sql } from 'drizzle-orm';
import { applications } from '../../database/schema/schema.ts';
import { ownApplicationIds } from '../core/own-applications.ts';
import { createList } from '../pages/list.ts';
import { applicationColumns } from './application.ts';

/** Returns a page of the applications that are not deleted. */
export const listApplications = createList('select_applications', {
  name: 'applications',
  columns: applicationColumns,
  order: [applications.createdAt, applications.id],
  where: sql`deleted_at is null and id not in ${ownApplicationIds}`,
});
