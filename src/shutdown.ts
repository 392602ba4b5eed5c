import type { Logger } from 'pino';
import type { Config } from './config/config.ts';
import { flushLog } from './log.ts';

/** How long the server may take to close after the last call. */
const CLOSE_TIMEOUT_MS = 5_000;
/** How long writing the last log lines may take. */
const LOG_TIMEOUT_MS = 2_000;

/** Returns a function that shuts this process down with an exit code. Further calls have no effect. */
export function createShutdown(
  server: { close(): Promise<void> },
  logger: Logger,
  { shutdownDelayMs, shutdownTimeoutMs }: Pick<Config, 'shutdownDelayMs' | 'shutdownTimeoutMs'>,
): (exitCode: number) => Promise<void> {
  let isClosing = false;
  return async (exitCode) => {
    // The signal may arrive twice: npm forwards a Ctrl-C that the terminal has also sent to this process.
    if (isClosing) return;
    isClosing = true;
    setTimeout(() => exit(1, logger), shutdownDelayMs + shutdownTimeoutMs + CLOSE_TIMEOUT_MS).unref();
    await server.close();
    await exit(exitCode, logger);
  };
}

async function exit(code: number, logger: Logger): Promise<void> {
  // `process.exit` waits until the log is written, which is for ever if nobody reads it.
  if (!(await flushLog(logger, LOG_TIMEOUT_MS))) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
