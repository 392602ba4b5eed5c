import type { WireReply, WireRequest } from '../protocols/protocol.ts';

/** Sends requests over connections that are open already and stay open. */
export interface LoadClient {
  send(request: WireRequest): Promise<WireReply>;
  /** Fails what is under way. */
  close(): void;
}
