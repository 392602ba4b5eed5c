import type { WireReply, WireRequest } from '../protocols/protocol.ts';

/** Sends requests over open connections. */
export interface LoadClient {
  send(request: WireRequest): Promise<WireReply>;
  /** Closes the connections. Requests in flight fail. */
  close(): void;
}
