/** What Usher uses of postgres.js. Other files know the driver by these names only. */
import postgres from 'postgres';

/** Runs statements on connections of its own. */
export type PostgresClient = postgres.Sql;
export type ClientOptions = postgres.Options<Record<string, never>>;
/** The names of the columns of a statement's rows. */
export type ResultColumns = readonly { readonly name: string }[];

/** An error that Postgres has sent. */
export const { PostgresError } = postgres;

/** The fields of an error that anybody reads, by their codes: https://www.postgresql.org/docs/current/protocol-error-fields.html */
const ERROR_FIELDS: Readonly<Record<string, string>> = {
  S: 'severity_local',
  V: 'severity',
  C: 'code',
  M: 'message',
  W: 'where',
  t: 'table_name',
  c: 'column_name',
  n: 'constraint_name',
  R: 'routine',
};

/** Returns the error of a message: each field begins with its code, and ends with NUL. */
export function createPostgresError(message: string): postgres.PostgresError {
  const fields: Record<string, string> = { code: '', message: '' };
  for (const field of message.split('\0')) {
    const name = ERROR_FIELDS[field.charAt(0)];
    if (name) fields[name] = field.slice(1);
  }
  // Its type hides the constructor.
  return Reflect.construct(PostgresError, [fields]);
}

export const createClient = postgres;
