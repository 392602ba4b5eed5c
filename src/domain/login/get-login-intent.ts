import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { findLoginIntent, type LoginIntent, statusOf } from './login-intent.ts';

const rules = { loginIntentId: uuid };

/** Returns an intent of any application, with its status. @throws ServiceError `Login intent not found` */
export async function getLoginIntent(
  call: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<LoginIntent & { status: 'open' | 'completed' | 'expired' }> {
  const intent = await findLoginIntent(call, check(request, rules).loginIntentId);
  if (!intent) throw new ServiceError('LOGIN_INTENT_NOT_FOUND');
  return { ...intent, status: statusOf(intent, call.now) };
}
