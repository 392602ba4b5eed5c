/** Returns a rejection handler that adds the settings that may be wrong to the message. */
export function blame(...settings: readonly string[]): (reason: Error) => never {
  return (reason) => {
    throw new Error(`${settings.join(' and ')} cannot be used: ${reason.message}`, { cause: reason });
  };
}
