/** Returns a function whose callers share one answer of `read` until `validMs` after it has come. */
export function share<Answer>(read: () => Promise<Answer>, validMs: number): () => Promise<Answer> {
  let shared: Promise<Answer> | undefined;
  const forget = () => {
    shared = undefined;
  };
  return () => {
    shared ??= read().finally(() => setTimeout(forget, validMs).unref());
    return shared;
  };
}
