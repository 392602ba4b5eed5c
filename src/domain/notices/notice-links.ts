import type { DueNotice } from './due-notices.ts';
import type { NoticeKind } from './store-notice.ts';

/** How long the links in notices work. */
export const LINK_DAYS = 7;

type LinkedNotice = Pick<DueNotice, 'id' | 'userId' | 'recipient' | 'value' | 'changedAt'>;

/** Functions that return the link with which a user undoes a change, below the account page, by the kind of notice. */
export type NoticeLinks = Partial<Record<NoticeKind, (notice: LinkedNotice) => `/${string}`>>;
