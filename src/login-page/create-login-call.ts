import type { CallInfo } from '../api/call-info.ts';
import type { CallLog } from '../api/call-log.ts';
import { withAudit } from '../domain/audit/audit-event.ts';
import type { Call } from '../domain/core/call.ts';
import type { LanguageChoice } from './language-choice.ts';
import type { LoginPageParts } from './login-request.ts';

/** Returns the call of an action. @param action the name of the action in the audit log */
export function createLoginCall(
  { clock, count, database, notices }: LoginPageParts & Pick<CallLog, 'count'>,
  action: string,
  { deadline, isGone, requestId }: Pick<CallInfo, 'deadline' | 'isGone' | 'requestId'>,
  languages: LanguageChoice,
): Call {
  const now = clock();
  // The audit log stores no addresses of users: they are personal data, which only sessions store.
  const auditActor = { actorType: 'login_page', actor: '', action, ipAddress: '', requestId, now } as const;
  return {
    run: withAudit(database.within(deadline, { isGone }), auditActor),
    now,
    notices: notices && { ...notices, toLanguage: (locale) => languages.languageFor(locale).tag },
    count: (counted) => count?.(counted, now),
  };
}
