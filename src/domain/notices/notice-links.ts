import type { NoticeKind } from './store-notice.ts';

/** A notice for which a link is made. */
interface LinkedNotice {
  /** The ID of the notice. */
  readonly id: string;
  readonly userId: string;
  /** The instant of the change. */
  readonly changedAt: Date;
}

/** Functions that return the link with which a user undoes a change, below the account page, by the kind of notice. */
export type NoticeLinks = Partial<Record<NoticeKind, (notice: LinkedNotice) => `/${string}`>>;
