/** All tables, in the order in which the expiry job and an erasure go through them. */
import { API_KEY_TABLES } from './api-key-schema.ts';
import { AUDIT_TABLES } from './audit-schema.ts';
import { DELIVERY_TABLES } from './delivery-schema.ts';
import { EVENT_TABLES } from './event-schema.ts';
import { GROUP_TABLES } from './group-schema.ts';
import { IDENTITY_TABLES } from './identity-schema.ts';
import { INTENT_TABLES } from './intent-schema.ts';
import { INVITATION_TABLES } from './invitation-schema.ts';
import { LOGIN_TABLES } from './login-schema.ts';
import { NOTICE_TABLES } from './notice-schema.ts';
import { OIDC_TABLES } from './oidc-schema.ts';
import { OPERATIONS_TABLES } from './operations-schema.ts';
import { PASSKEY_TABLES } from './passkey-schema.ts';
import { RECOVERY_TABLES } from './recovery-schema.ts';
import { CORE_TABLES } from './schema.ts';
import { SECOND_FACTOR_TABLES } from './second-factor-schema.ts';
import { SESSION_TABLES } from './session-schema.ts';
import type { TableFacts } from './table-facts.ts';
import { WEBHOOK_TABLES } from './webhook-schema.ts';

export const TABLES: readonly TableFacts[] = [
  ...SESSION_TABLES,
  ...LOGIN_TABLES,
  ...OIDC_TABLES,
  ...PASSKEY_TABLES,
  ...SECOND_FACTOR_TABLES,
  ...IDENTITY_TABLES,
  ...GROUP_TABLES,
  ...CORE_TABLES,
  ...INTENT_TABLES,
  ...API_KEY_TABLES,
  ...INVITATION_TABLES,
  ...RECOVERY_TABLES,
  ...EVENT_TABLES,
  ...NOTICE_TABLES,
  ...AUDIT_TABLES,
  ...OPERATIONS_TABLES,
  ...WEBHOOK_TABLES,
  ...DELIVERY_TABLES,
];
