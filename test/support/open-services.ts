/** The URLs of the services that tests have started and not closed. */
export const openServices = new Set<string>();
