/** How long the database may take to close once the last call is done. */
const CLOSE_GRACE_MS = 5_000;

/** Returns what ends this process in order: once, however often it is asked to. */
export function createShutdown(service: { close(): Promise<void> }, shutdownTimeoutMs: number): () => Promise<void> {
  let isClosing = false;
  return async () => {
    // A Ctrl-C below npm arrives twice.
    if (isClosing) return;
    isClosing = true;
    // What is still open when the time is up, a database that hangs for one, is left behind.
    setTimeout(() => process.exit(1), shutdownTimeoutMs + CLOSE_GRACE_MS).unref();
    await service.close();
    process.exit(0);
  };
}
