import type { Fault } from '../fault.ts';
import { ACCESS_FAULTS } from './access.ts';
import { ACCOUNT_FAULTS } from './account.ts';
import { ASSURANCE_FAULTS } from './assurance.ts';
import { BRANDING_FAULTS } from './branding.ts';
import { CHECK_IN_RULE_FAULTS } from './check-in-rules.ts';
import { CLIENT_PACKAGE_FAULTS } from './client-package.ts';
import { CONSOLE_FAULTS } from './console.ts';
import { DATABASE_FAULTS } from './database.ts';
import { DEVICE_FAULTS } from './devices.ts';
import { EVENT_FAULTS } from './events.ts';
import { INVITATION_FAULTS } from './invitations.ts';
import { KEY_FAULTS } from './keys.ts';
import { LANGUAGE_FAULTS } from './languages.ts';
import { LOGIN_FAULTS } from './login.ts';
import { MACHINE_FAULTS } from './machines.ts';
import { MESSAGE_FAULTS } from './messages.ts';
import { METADATA_CLIENT_FAULTS } from './metadata-clients.ts';
import { NEW_DEVICE_FAULTS } from './new-device.ts';
import { NOTICE_FAULTS } from './notices.ts';
import { OIDC_FAULTS } from './oidc.ts';
import { OIDC_CLIENT_FAULTS } from './oidc-clients.ts';
import { OIDC_TOKEN_FAULTS } from './oidc-tokens.ts';
import { OTHER_FAULTS } from './others.ts';
import { PAGE_FAULTS } from './pages.ts';
import { PASSKEY_FAULTS } from './passkeys.ts';
import { PROVIDER_ANSWER_FAULTS } from './provider-answers.ts';
import { PROVIDER_LINK_FAULTS } from './provider-links.ts';
import { PROVIDER_FAULTS } from './providers.ts';
import { SERVICE_FAULTS } from './service.ts';
import { SIGN_OUT_FAULTS } from './sign-outs.ts';
import { SIGN_UP_FAULTS } from './sign-ups.ts';
import { TENANT_FAULTS } from './tenants.ts';
import { TOKEN_FAULTS } from './tokens.ts';
import { USER_IMPORT_FAULTS } from './user-imports.ts';
import { USER_FAULTS } from './users.ts';
import { WEBHOOK_FAULTS } from './webhooks.ts';

export const FAULTS: readonly Fault[] = [
  ...TENANT_FAULTS,
  ...USER_FAULTS,
  ...USER_IMPORT_FAULTS,
  ...KEY_FAULTS,
  ...LOGIN_FAULTS,
  ...SIGN_UP_FAULTS,
  ...INVITATION_FAULTS,
  ...SIGN_OUT_FAULTS,
  ...ACCESS_FAULTS,
  ...ACCOUNT_FAULTS,
  ...ASSURANCE_FAULTS,
  ...PASSKEY_FAULTS,
  ...PROVIDER_FAULTS,
  ...PROVIDER_ANSWER_FAULTS,
  ...PROVIDER_LINK_FAULTS,
  ...BRANDING_FAULTS,
  ...LANGUAGE_FAULTS,
  ...PAGE_FAULTS,
  ...TOKEN_FAULTS,
  ...NOTICE_FAULTS,
  ...NEW_DEVICE_FAULTS,
  ...OIDC_FAULTS,
  ...OIDC_TOKEN_FAULTS,
  ...OIDC_CLIENT_FAULTS,
  ...DEVICE_FAULTS,
  ...METADATA_CLIENT_FAULTS,
  ...MACHINE_FAULTS,
  ...MESSAGE_FAULTS,
  ...CHECK_IN_RULE_FAULTS,
  ...EVENT_FAULTS,
  ...WEBHOOK_FAULTS,
  ...SERVICE_FAULTS,
  ...DATABASE_FAULTS,
  ...CONSOLE_FAULTS,
  ...CLIENT_PACKAGE_FAULTS,
  ...OTHER_FAULTS,
];
