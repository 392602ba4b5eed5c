import { applications } from '../../database/schema.ts';
import { type Rule, rule } from '../rule.ts';
import { boolean, listOf, optional } from '../validation.ts';
import { webRedirectUri } from './branding.ts';
import { redirectUri } from './redirect-uri-rule.ts';

const { openIdConnect, requirePkce, publicClient, postLogoutRedirectUris, backchannelLogoutUri } = applications;
const uris = { postLogoutRedirectUris, backchannelLogoutUri };
export const openIdConnectColumns = { openIdConnect, requirePkce, publicClient, ...uris };

export const openIdConnectFlags = { openIdConnect: boolean, requirePkce: boolean, publicClient: boolean };

const redirectUris = listOf(redirectUri, { min: 0, max: 50 });
/** Takes a missing list as an empty one. */
const anyRedirectUris: Rule<string[]> = rule(redirectUris.schema, (value) => redirectUris(value ?? []), {
  isOptional: true,
  isNullable: true,
});

/** All of these may be missing. */
export const openIdConnectRules = {
  postLogoutRedirectUris: anyRedirectUris,
  backchannelLogoutUri: optional(webRedirectUri),
};
