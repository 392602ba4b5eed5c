import type { LoadClient } from './client.ts';
import type { PreparedRequest } from './prepare-requests.ts';

/** How long after the time is up the last replies may come in. */
const GRACE_MS = 10_000;

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** In milliseconds, ascending. */
  readonly latencies: Float64Array;
  /** The first reply that was not the expected one. */
  readonly refusal: string | undefined;
}

/** Sends the requests, so many at a time, each when another has been answered, until there are none left or the time is up. */
export async function applyLoad(
  client: LoadClient,
  requests: readonly PreparedRequest[],
  { maxSeconds, concurrency }: { maxSeconds: number; concurrency: number },
): Promise<LoadResult> {
  const latencies = new Float64Array(requests.length);
  const startedAt = performance.now();
  const stopAt = startedAt + maxSeconds * 1000;
  const watchdog = setTimeout(() => client.close(), maxSeconds * 1000 + GRACE_MS);
  let sent = 0;
  let answered = 0;
  let refusal: string | undefined;

  const sendInTurn = async () => {
    for (let now = startedAt; now < stopAt && !refusal; ) {
      const request = requests[sent++];
      if (!request) return;
      const sentAt = performance.now();
      try {
        const reply = await client.send(request.wire);
        now = performance.now();
        latencies[answered++] = now - sentAt;
        request.check(reply);
      } catch (error) {
        refusal ??= error instanceof Error ? error.message : String(error);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sendInTurn));
  clearTimeout(watchdog);

  const seconds = (performance.now() - startedAt) / 1000;
  return { requests: answered, seconds, latencies: latencies.subarray(0, answered).sort(), refusal };
}
