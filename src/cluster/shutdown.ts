import type { Logger } from 'pino';
import { flushLog } from '../log.ts';

/** How long the database may take to close once the last call is done. */
const CLOSE_GRACE_MS = 5_000;
/** How long whoever reads the log may take for its last lines. */
const LOG_GRACE_MS = 2_000;

/** Returns what ends this process in order: once, however often it is asked to. */
export function createShutdown(
  service: { close(): Promise<void> },
  logger: Logger,
  shutdownTimeoutMs: number,
): () => Promise<void> {
  let isClosing = false;
  return async () => {
    // A Ctrl-C below npm arrives twice.
    if (isClosing) return;
    isClosing = true;
    // What is still open when the time is up, a database that hangs for one, is left behind.
    setTimeout(() => exit(1, logger), shutdownTimeoutMs + CLOSE_GRACE_MS).unref();
    await service.close();
    await exit(0, logger);
  };
}

async function exit(code: number, logger: Logger): Promise<void> {
  // An exit waits until the log has been written, for ever where nobody reads it.
  if (!(await flushLog(logger, LOG_GRACE_MS))) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
