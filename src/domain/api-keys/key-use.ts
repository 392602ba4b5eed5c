/** What a key opens: the API and OpenID Connect, or only the latter, so that its holder can list no users. */
export const KEY_USES = ['API', 'CLIENT_SECRET'] as const;

export type KeyUse = (typeof KEY_USES)[number];
