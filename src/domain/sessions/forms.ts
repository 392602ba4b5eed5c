/**
 * Statements in four forms: those for restricted applications ask whether the user may enter, and those for applications
 * that see attributes copy them. Others pay nothing for it: Postgres sets up each subquery in every execution, also where
 * it does not ask it.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Application } from '../core/call.ts';
import { shownAttributes } from '../users/attributes.ts';
import { latestCutoff, latestCutoffOfAllowed } from './cutoffs.ts';

/** Where the forms differ. */
export interface FormParts {
  /** Returns the latest cut-off of a user. */
  readonly cutoffOf: (userId: SQLWrapper) => SQL;
  /** Returns what the application sees of the attributes of a user, or null. */
  readonly attributesOf: (attributes: SQL) => SQL;
}

type Forms<Form> = Readonly<Record<'open' | 'restricted', Readonly<Record<'plain' | 'withAttributes', Form>>>>;

/** The parts of a statement for which both make no difference. */
export const PLAIN: FormParts = { cutoffOf: latestCutoff, attributesOf: () => sql`null::jsonb` };

/**
 * @param create returns the statement with the given name, in which a sign-in must be later than the cut-off
 */
export function inForms<Form>(name: string, create: (name: string, parts: FormParts) => Form): Forms<Form> {
  const inTwo = (ofAccess: string, parts: FormParts) => ({
    plain: create(ofAccess, parts),
    withAttributes: create(`${ofAccess}_with_attributes`, { ...parts, attributesOf: shownAttributes }),
  });
  return {
    open: inTwo(name, PLAIN),
    restricted: inTwo(`${name}_restricted`, { ...PLAIN, cutoffOf: latestCutoffOfAllowed }),
  };
}

/** The settings may be as old as what this replica knows of the application: at most 5 seconds. */
export function formFor<Form>(
  { open, restricted }: Forms<Form>,
  { restrictAccess = false, attributeClaims = [] }: Application,
): Form {
  const { plain, withAttributes } = restrictAccess ? restricted : open;
  return attributeClaims.length > 0 ? withAttributes : plain;
}
