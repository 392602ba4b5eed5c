/** Returns a handler of a rejection that rejects with the same reason and the settings to look at. */
export function blame(...settings: readonly string[]): (reason: Error) => never {
  return (reason) => {
    throw new Error(`${settings.join(' and ')} cannot be used: ${reason.message}`, { cause: reason });
  };
}
