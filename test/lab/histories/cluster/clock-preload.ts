import { fileURLToPath } from 'node:url';

/** Preloaded with `node --import`, it moves the clock of the process by CLOCK_OFFSET_MS. */
export const CLOCK_PRELOAD = fileURLToPath(new URL('./clock-offset.js', import.meta.url));
