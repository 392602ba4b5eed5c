/**
 * Statements in two forms: that for restricted applications also asks whether the user may enter. Other applications
 * run the same statement as if there were no such switch, and pay nothing for it.
 */
import type { SQL, SQLWrapper } from 'drizzle-orm';
import type { Application } from '../core/call.ts';
import { latestCutoff, latestCutoffOfAllowed } from './cutoffs.ts';

export interface ByAccess<Form> {
  readonly open: Form;
  readonly restricted: Form;
}

/** Returns the latest cut-off of a user, as SQL. */
export type CutoffOf = (userId: SQLWrapper) => SQL;

/** @param create returns the statement with the given name, in which a sign-in must be later than the cut-off */
export function byAccess<Form>(name: string, create: (name: string, cutoffOf: CutoffOf) => Form): ByAccess<Form> {
  return { open: create(name, latestCutoff), restricted: create(`${name}_restricted`, latestCutoffOfAllowed) };
}

/** The switch may be as old as what this replica knows of the application: at most 5 seconds. */
export function formFor<Form>({ open, restricted }: ByAccess<Form>, { restrictAccess = false }: Application): Form {
  return restrictAccess ? restricted : open;
}
