/** Returns a function whose callers share a result of `read` until `validMs` after it has resolved. */
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
