import { integerBetween } from './parse-setting.ts';
import { setting } from './setting.ts';

const MAX_DAYS = 36_500;

export const AUDIT_SETTINGS = {
  auditLogDays: setting('AUDIT_LOG_DAYS', integerBetween(1, MAX_DAYS), 'Days that the audit log keeps events.', {
    default: 400,
  }),
  signInLogDays: setting(
    'SIGN_IN_LOG_DAYS',
    integerBetween(1, MAX_DAYS),
    'Days that the audit log keeps sign-ins and renewals; `AUDIT_LOG_DAYS` at most.',
    { default: 90 },
  ),
};
