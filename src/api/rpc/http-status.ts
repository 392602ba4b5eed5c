/** Returns Connect's HTTP status, except for a message that is too large: HTTP has 413 for that. */
export function toHttpStatus(connectStatus: number): number {
  return connectStatus === 429 ? 413 : connectStatus;
}
