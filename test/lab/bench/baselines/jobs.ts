/** What all senders send. */
export interface Job {
  readonly url: string;
  readonly body: string;
}

export const QUEUE = 'deliver';
/** How many requests are in flight at most. */
export const CONCURRENCY = 64;

/** A process that sends. */
export interface Sender {
  readonly name: string;
  readonly pid: number;
  /** Makes the sender send so many messages. */
  send(count: number): Promise<void>;
}

export const LOOP = 'a loop of fetch';
