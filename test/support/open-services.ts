/**
 * The URLs of the services that tests have started and not closed. A module of its own, because that of the hook is loaded
 * anew for each file.
 */
export const openServices = new Set<string>();
