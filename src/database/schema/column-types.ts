/** Types of columns that Drizzle does not have, and what indexes read of one. */
import { type SQL, sql } from 'drizzle-orm';
import { type AnyPgColumn, customType, jsonb } from 'drizzle-orm/pg-core';
import { readStoredInstant, writeStoredInstant } from '../sql/template.ts';

export const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Several ranges of instants. Only statements read them. */
export const instantRanges = customType<{ data: string }>({ dataType: () => 'tstzmultirange' });

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
