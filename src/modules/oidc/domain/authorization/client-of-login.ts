import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { nullable, t } from '../../../../database/sql/template.ts';

/** What a grant takes over of a login that the client of a resource has begun. */
export const CLIENT_OF_LOGIN = {
  forClient: nullable(t.text),
  clientName: loginIntents.clientName,
  needsConsent: t.boolean,
  scopeNames: loginIntents.scopeNames,
};
