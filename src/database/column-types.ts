/** Types of columns that Drizzle does not have. */
import { customType, timestamp } from 'drizzle-orm/pg-core';

export const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Several ranges of instants. Only statements read them. */
export const instantRanges = customType<{ data: string }>({ dataType: () => 'tstzmultirange' });

/** Returns a column of whole milliseconds, so that an answer shows exactly what is stored. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });
