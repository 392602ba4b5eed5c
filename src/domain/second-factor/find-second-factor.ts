import { totpSecrets } from '../../database/schema/second-factor-schema.ts';
import { columnsOf, p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { getUser } from '../users/get-user.ts';

const { createdAt, lastUsedAt, countsFrom } = totpSecrets;
const SHOWN = { createdAt, lastUsedAt, countsFrom };

const secondFactorColumns = { ...SHOWN, recoveryCodesLeft: t.integer };

/** The second factor of a user, without secrets. */
export type SecondFactor = RowOfType<typeof secondFactorColumns>;

const rules = { userId: uuid };

/** Returns the second factor of a user, or undefined without one. @throws ServiceError `User not found` */
export async function getSecondFactor(
  call: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<SecondFactor | undefined> {
  const { userId } = check(request, rules);
  const found = await findSecondFactor(call, userId);
  if (!found) await getUser(call, { userId });
  return found;
}

export async function findSecondFactor({ run }: Call, userId: string): Promise<SecondFactor | undefined> {
  const [found] = await run(selectSecondFactor, { userId });
  return found;
}

const selectSecondFactor = statement('select_second_factor', secondFactorColumns)`
  select ${columnsOf(SHOWN)}, (
      select count(*)::integer from recovery_codes where user_id = ${p.uuid('userId')}) as recovery_codes_left
  from totp_secrets where user_id = ${p.uuid('userId')}`;
