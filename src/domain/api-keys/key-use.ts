/** An `API` key opens the API and OpenID Connect. The holder of a `CLIENT_SECRET` cannot call the API. */
export const KEY_USES = ['API', 'CLIENT_SECRET'] as const;

export type KeyUse = (typeof KEY_USES)[number];
