import { setting, type ValuesOf } from '../../config/setting.ts';
import { type ClientHosts, parseClientHosts } from './clients/client-url.ts';

export const OIDC_SETTINGS = {
  clientMetadataHosts: setting<ClientHosts | undefined>(
    'CLIENT_METADATA_HOSTS',
    parseClientHosts,
    'Hosts, comma-separated, whose clients may ask for access to resources without being registered: `claude.ai`, `*.example.com`, `*`. Their metadata is fetched as webhooks are sent.',
    { defaultText: 'none: off' },
  ),
};

export type OidcConfig = ValuesOf<typeof OIDC_SETTINGS>;
