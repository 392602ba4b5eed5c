/** Cursors of a feed: the epoch of the feed and the position of the last message, encrypted. */
import { ServiceError } from '../core/errors.ts';
import type { PageTokens } from '../pages/list.ts';

export interface FeedCursor {
  readonly epoch: string;
  /** Of the last message before the cursor. 0 before the first one. */
  readonly position: number;
}

/** From the oldest message that is kept. */
export const OLDEST = 'oldest';

/** The time of page tokens, which cursors do not need. */
const NO_TIME = new Date(0);

export function sealCursor(tokens: PageTokens, applicationId: string, { epoch, position }: FeedCursor): string {
  return tokens.seal({ at: NO_TIME, id: `${epoch} ${position}` }, scopeOf(applicationId));
}

/** @throws ServiceError `Cursor expired` for a cursor that was altered, or that is of another application */
export function openCursor(tokens: PageTokens, applicationId: string, cursor: string): FeedCursor {
  const found = tokens.find(cursor, scopeOf(applicationId));
  const [epoch, position] = found?.id.split(' ') ?? [];
  if (epoch === undefined) throw new ServiceError('CURSOR_EXPIRED');
  return { epoch, position: Number(position) };
}

const scopeOf = (applicationId: string) => ['messages', applicationId];
