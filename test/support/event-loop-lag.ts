import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How late this process itself has been at the most, in milliseconds: by so much it may see others late. */
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
