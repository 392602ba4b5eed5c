/** The feed of an application: each change has one place, and a reader gets the messages in the order of their places. */
import type { Violation } from '../operation.ts';

/** A row of the feed. */
export interface Place {
  readonly position: number;
  readonly messageId: string;
  /** What the message is about. Null for the message of an erased user. */
  readonly subject: string | null;
}

export interface FeedHistory {
  /** In order of their positions. */
  readonly places: readonly Place[];
  /** What was acknowledged, and is never erased. */
  readonly changes: readonly string[];
  /** The messages that the reader has handled, in order. */
  readonly read: readonly string[];
}

export function findFeedViolations({ places, changes, read }: FeedHistory): Violation[] {
  const kept = places.filter(({ subject }) => subject !== null);
  const placed = new Set(places.map(({ messageId }) => messageId));
  const erased = new Set(places.filter(({ subject }) => subject === null).map(({ messageId }) => messageId));
  const gap = places.findIndex(({ position }, at) => position !== at + 1);
  const seen = read.filter((messageId) => !erased.has(messageId));
  const wrong = kept.findIndex(({ messageId }, at) => seen[at] !== messageId);
  const counts = Map.groupBy(kept, ({ subject }) => subject);
  return [
    ...(gap >= 0 ? [{ rule: 'a feed has a gap', details: `after ${gap} comes ${places[gap]?.position}` }] : []),
    ...(placed.size < places.length ? [{ rule: 'a message has two places', details: `${places.length} places` }] : []),
    ...changes.flatMap((change) => {
      const times = counts.get(change)?.length ?? 0;
      return times === 1 ? [] : [{ rule: 'a change does not have one place', details: `${change}: ${times}` }];
    }),
    ...(wrong >= 0 || seen.length > kept.length
      ? [{ rule: 'a reader has not read the feed in order', details: describe(kept, seen, wrong) }]
      : []),
    ...(new Set(read).size < read.length ? [{ rule: 'a reader has read a message twice', details: '' }] : []),
  ];
}

function describe(kept: readonly Place[], seen: readonly string[], wrong: number): string {
  const at = wrong < 0 ? kept.length : wrong;
  return `${seen[at]} instead of ${JSON.stringify(kept[at])}, ${seen.length} read of ${kept.length}`;
}
