/** Returns a rejection handler. Its error names the settings that may have caused the failure. */
export function nameSettings(...settings: readonly string[]): (reason: Error) => never {
  return (reason) => {
    throw new Error(`${settings.join(' and ')} cannot be used: ${reason.message}`, { cause: reason });
  };
}
