import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Measures the longest delay of the test's own event loop, by which its measurements of others may be off. */
export function watchEventLoopLag(): Disposable & { readonly worstMs: number } {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  return {
    get worstMs() {
      return delay.max / 1e6;
    },
    [Symbol.dispose]: () => void delay.disable(),
  };
}
