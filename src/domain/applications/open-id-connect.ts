import { applications } from '../../database/schema/schema.ts';
import { boolean, listOf, optional, orDefault } from '../core/validation.ts';
import { webRedirectUri } from './branding.ts';
import { redirectUri } from './redirect-uri-rule.ts';

const { openIdConnect, requirePkce, publicClient, deviceLogin } = applications;
const { postLogoutRedirectUris, backchannelLogoutUri } = applications;
const uris = { postLogoutRedirectUris, backchannelLogoutUri };
export const openIdConnectColumns = { openIdConnect, requirePkce, publicClient, deviceLogin, ...uris };

export const openIdConnectFlags = {
  openIdConnect: boolean,
  requirePkce: boolean,
  publicClient: boolean,
  deviceLogin: boolean,
};

const redirectUris = listOf(redirectUri, { min: 0, max: 50 });

/** The rules of fields that may be missing. */
export const openIdConnectRules = {
  postLogoutRedirectUris: orDefault(redirectUris, []),
  backchannelLogoutUri: optional(webRedirectUri),
};
