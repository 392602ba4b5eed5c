import { sql } from 'drizzle-orm';
import { recoveryLinks } from '../../database/schema/recovery-schema.ts';
import { p } from '../../database/sql/template.ts';
import { uuid } from '../core/validation.ts';
import { createList } from '../pages/list.ts';
import { getUser } from '../users/get-user.ts';
import { recoveryLinkColumns, selectLinkColumns } from './recovery-link.ts';

/** Returns a page of the recovery links of a user, also those that have ended. @throws ServiceError `User not found` */
export const listRecoveryLinks = createList('select_recovery_links', {
  name: 'recovery links',
  rules: { userId: uuid },
  columns: { ...recoveryLinkColumns, id: recoveryLinks.id },
  select: sql`${selectLinkColumns('recovery_links')}, recovery_links.id`,
  order: [recoveryLinks.createdAt, recoveryLinks.id],
  where: sql`user_id = ${p.uuid('userId')}`,
  requireParent: (call, { userId }) => getUser(call, { userId }),
});
