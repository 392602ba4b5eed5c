/** What Usher uses of postgres.js. Other files know the driver by these names only. */
import postgres from 'postgres';

/** Runs statements on connections of its own. */
export type PostgresClient = postgres.Sql;
export type ClientOptions = postgres.Options<Record<string, never>>;
export type QueryOptions = postgres.UnsafeQueryOptions;
export type ResultColumns = postgres.ColumnList<string>;

/** An error that Postgres has sent. */
export const { PostgresError } = postgres;

export const createClient = postgres;
