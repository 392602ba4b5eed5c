import { sql } from 'drizzle-orm';
import { isManagedByFile } from '../core/managed-by-file.ts';

/** The condition that the file has declared the key `k` of the application `a`, which it still names. */
export const isManagedKey = isManagedByFile(sql`a.declared_by_file and k.declared_by_file`);
