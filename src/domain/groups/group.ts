import type { RowOf } from '../../database/pool/database.ts';
import { groups } from '../../database/schema/group-schema.ts';
import { patternOf, rule, Unacceptable } from '../core/rule.ts';
import { identifier, optional, text } from '../core/validation.ts';

const { id, name, displayName, declaredByFile, createdAt } = groups;

export const groupColumns = { groupId: id, name, displayName, declaredByFile, createdAt };

/** The columns that operators set. */
export const chosenGroupColumns = { name, displayName };

/** A group as operators see it. */
export type Group = RowOf<typeof groupColumns>;

/** How many groups there can be, one user can be in, and one application can know. Concurrent calls may exceed these. */
export const MAX_GROUPS = 1_000;
export const MAX_GROUPS_OF_USER = 100;
export const MAX_GROUPS_OF_APPLICATION = 100;

/** Claims contain the name, and other products compare it, so it has no capital letters and no spaces. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
// Equivalent: limit: the pattern allows no more
const anyName = text({ max: 63 });
const groupName = rule({ ...anyName.schema, pattern: patternOf(NAME) }, (value) => {
  const string = anyName(value);
  if (NAME.test(string)) return string;
  throw new Unacceptable('must have only a to z, 0 to 9, dots, hyphens and underscores, the first a letter or digit');
});

export const groupRules = { name: groupName, displayName: optional(identifier) };
