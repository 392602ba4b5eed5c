/** Returns a function whose callers share one result of `read` until `validMs` after that has settled. */
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
