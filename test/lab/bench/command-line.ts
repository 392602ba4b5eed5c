/** An error of the command line, which a line explains. */
export class UsageError extends Error {}

/** @throws UsageError unless it is a whole number above 0 */
export function readCount(option: string, text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new UsageError(`--${option} must be a whole number above 0`);
  return count;
}

/**
 * Returns whether a name is selected. Names match by their beginning, in any case. No prefix selects everything.
 *
 * @throws UsageError for a prefix that matches no name
 */
export function selectNames(option: string, prefixes: readonly string[], names: readonly string[]) {
  const matches = (name: string, prefix: string) =>
    prefix !== '' && name.toLowerCase().startsWith(prefix.toLowerCase());
  for (const prefix of prefixes) {
    if (!names.some((name) => matches(name, prefix)))
      throw new UsageError(`--${option} "${prefix}" matches none of: ${names.join(', ')}`);
  }
  return (name: string) => prefixes.length === 0 || prefixes.some((prefix) => matches(name, prefix));
}
