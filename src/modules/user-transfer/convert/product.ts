import type { Row } from './read-export.ts';
import type { Drop, FoundUser } from './to-user-line.ts';

/** A product that users come from. */
export interface Product {
  read(path: string): AsyncIterable<Row>;
  /** The fields of a row that `toUser` looks at, or that say nothing of the user. All others are counted as left out. */
  readonly fields: readonly string[];
  /** Returns undefined for what is no user. */
  toUser(row: Row, drop: Drop): FoundUser | undefined;
}
