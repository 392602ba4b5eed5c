/** Keeps this process from its timers and sockets for so many milliseconds, as work would, but leaves the CPU to others. */
export function blockProcess(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
