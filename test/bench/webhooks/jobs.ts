/** What all senders send. */
export interface Job {
  readonly url: string;
  readonly body: string;
}

export const QUEUE = 'deliver';
/** How many requests are in flight at most. */
export const CONCURRENCY = 64;
