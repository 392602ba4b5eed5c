import type { WireReply, WireRequest } from '../protocols.ts';
import type { PreparedRequest } from './prepare-requests.ts';

/** Sends requests over open connections. */
export interface LoadClient {
  send(request: WireRequest): Promise<WireReply>;
  /** Closes the connections. Requests in flight fail. */
  close(): void;
}

/** A server that answers nothing for so long hangs. Until then a machine may be as busy as it likes. */
const HANG_MS = 60_000;

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** In milliseconds, ascending. */
  readonly latencies: Float64Array;
  /** The first response that was not the expected one, if any. */
  readonly failure: string | undefined;
}

/** Sends the requests with so many in flight, until none is left or a response is not the expected one. */
export async function applyLoad(
  client: LoadClient,
  requests: readonly PreparedRequest[],
  concurrency: number,
): Promise<LoadResult> {
  const latencies = new Float64Array(requests.length);
  const startedAt = performance.now();
  const watchdog = setTimeout(() => client.close(), HANG_MS);
  let sent = 0;
  let answered = 0;
  let failure: string | undefined;

  const sendNext = async () => {
    while (!failure) {
      const request = requests[sent++];
      if (!request) return;
      const sentAt = performance.now();
      try {
        const reply = await client.send(request.wire);
        latencies[answered++] = performance.now() - sentAt;
        watchdog.refresh();
        request.check(reply);
      } catch (error) {
        failure ??= error instanceof Error ? error.message : String(error);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sendNext));
  clearTimeout(watchdog);

  const seconds = (performance.now() - startedAt) / 1000;
  return { requests: answered, seconds, latencies: latencies.subarray(0, answered).sort(), failure };
}
