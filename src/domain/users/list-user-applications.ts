import { sql } from 'drizzle-orm';
import { applications } from '../../database/schema/schema.ts';
import { applicationUsers } from '../../database/schema/session-schema.ts';
import { p } from '../../database/sql/template.ts';
import { uuid } from '../core/validation.ts';
import { createList } from '../pages/list.ts';
import { getUser } from './get-user.ts';

/** Returns a page of the applications that a user has signed in to. @throws ServiceError `User not found` */
export const listUserApplications = createList('select_user_applications', {
  name: 'user applications',
  rules: { userId: uuid },
  columns: {
    applicationId: applicationUsers.applicationId,
    applicationName: applications.name,
    firstSignedInAt: applicationUsers.firstSignedInAt,
    lastSignedInAt: applicationUsers.lastSignedInAt,
  },
  select: sql`application_users.application_id, a.name as application_name, first_signed_in_at, last_signed_in_at`,
  order: [applicationUsers.firstSignedInAt, applicationUsers.applicationId],
  join: sql`join applications a on a.id = application_users.application_id and a.deleted_at is null`,
  where: sql`user_id = ${p.uuid('userId')}`,
  requireParent: (call, { userId }) => getUser(call, { userId }),
});
