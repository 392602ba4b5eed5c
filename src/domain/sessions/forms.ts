/**
 * Statements in two forms: those for applications that see attributes copy them. Others pay nothing for it: Postgres
 * sets up each subquery in every execution, also where it does not ask it.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { Application } from '../core/call.ts';
import { shownAttributes } from '../users/attributes.ts';

/** Returns what the application sees of the attributes of a user, or null. */
export type AttributesOf = (attributes: SQL) => SQL;

interface Forms<Form> {
  readonly plain: Form;
  readonly withAttributes: Form;
}

export const NO_ATTRIBUTES: AttributesOf = () => sql`null::jsonb`;

/** @param create returns the statement with the given name */
export function inForms<Form>(name: string, create: (name: string, attributesOf: AttributesOf) => Form): Forms<Form> {
  return { plain: create(name, NO_ATTRIBUTES), withAttributes: create(`${name}_with_attributes`, shownAttributes) };
}

/** The settings may be as old as what this replica knows of the application: at most 5 seconds. */
export function formFor<Form>({ plain, withAttributes }: Forms<Form>, { attributeClaims = [] }: Application): Form {
  return attributeClaims.length > 0 ? withAttributes : plain;
}
