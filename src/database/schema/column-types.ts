/** Types of columns that Drizzle does not have, and what indexes read of one. */
import { type SQL, sql } from 'drizzle-orm';
import { type AnyPgColumn, customType, jsonb } from 'drizzle-orm/pg-core';

export const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Several ranges of instants. Only statements read them. */
export const instantRanges = customType<{ data: string }>({ dataType: () => 'tstzmultirange' });

/**
 * Reads an instant as Postgres writes it, such as `2026-06-15 18:00:00.12+00`. JavaScript takes that form of a year
 * before 100 for a date of another year, or for none. It knows ISO 8601 of all years, but is slower there.
 */
export function readStoredInstant(text: string): Date {
  return new Date(text.startsWith('0') ? text.replace(' ', 'T').replace(/[+-]\d\d$/, '$&:00') : text);
}

/** Writes an instant for Postgres, which puts no sign before a year after 9999. */
export function writeStoredInstant(instant: Date): string {
  const iso = instant.toISOString();
  return iso.startsWith('+') ? iso.slice(2) : iso;
}

const instants = customType<{ data: Date; driverData: string }>({
  dataType: () => 'timestamp (3) with time zone',
  fromDriver: readStoredInstant,
  toDriver: writeStoredInstant,
});

/** Returns a column of whole milliseconds, so that an answer shows exactly what is stored. */
export const instant = (name: string) => instants(name);

/** Returns SQL for the ID of the encryption key, with which an encrypted signing key begins. */
export function encryptionKeyIdOf(signingKey: AnyPgColumn): SQL<Buffer> {
  return sql<Buffer>`substr(${signingKey}, 1, 4)`;
}

/** Values by name, which operators give to a user. */
export type Attributes = Readonly<Record<string, string | number | boolean | string[]>>;

/** What a client may ask for at a resource. People read the description before they consent. */
export interface ResourceScope {
  readonly name: string;
  readonly description: string;
}

/** Returns a column of attributes. Null for none. */
export const attributes = () => jsonb('attributes').$type<Attributes>();
