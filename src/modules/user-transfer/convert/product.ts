import type { Row } from './read-export.ts';
import type { Drop, FoundUser } from './to-user-line.ts';

/** A product that users come from. */
export interface Product {
  read(path: string): AsyncIterable<Row>;
  /** Returns undefined for what is no user. */
  toUser(row: Row, drop: Drop): FoundUser | undefined;
}
