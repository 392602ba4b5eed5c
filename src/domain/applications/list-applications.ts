import { isNull } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { applications } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageRules, readPage, selectPage } from '../pages/read-page.ts';
import { check, type Unchecked } from '../validation.ts';
import { type ApplicationDetails, applicationColumns } from './application.ts';

/** Returns a page of the applications that are not deleted. */
export async function listApplications(
  { run }: Call,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof pageRules>,
): Promise<Page<ApplicationDetails>> {
  return readPage(
    pageTokens,
    ['applications'],
    check(request, pageRules),
    (page) => run(selectApplications, page),
    ({ createdAt, id }) => ({ at: createdAt, id }),
  );
}

const order = [applications.createdAt, applications.id] as const;

const selectApplications: Statement<ApplicationDetails[]> = (db) =>
  db
    .select(applicationColumns)
    .from(selectPage(db, applications, order, isNull(applications.deletedAt)))
    .orderBy(...newestFirst(...order))
    .prepare('select_applications');
