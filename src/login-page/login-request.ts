/** A request to the login page or the account page, as actions get it. */
import type { ApiParts } from '../api/api.ts';
import type { LoginMethod } from '../config/login-methods.ts';
import type { Call } from '../domain/core/call.ts';
import type { LoginCodeSettings } from '../domain/login/login-code.ts';
import type { SignUpRules } from '../domain/login/sign-up-rules.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { LoginContext } from './login-context.ts';
import type { NetworkLimit } from './network-limit.ts';
import type { PageParts } from './page-parts.ts';

export interface LoginPageParts
  extends Pick<ApiParts, 'authPageUrl' | 'clock' | 'database' | 'providers' | 'tokens'>,
    Omit<PageParts, 'noticeLinks'> {
  readonly codes: LoginCodeSettings;
  /** The limit of logins that somebody who has not signed in begins: each stores a login intent. */
  readonly logins: NetworkLimit;
  readonly mailer: MailQueue;
  readonly notices: Call['notices'];
  readonly methods: readonly LoginMethod[];
  /** Called after sessions of a user have ended. */
  readonly onSignedOut: (userId: string) => void;
  readonly signUps: SignUpRules;
}

export function loginPathOf({ authPageUrl }: Pick<LoginPageParts, 'authPageUrl'>): string {
  return new URL(authPageUrl).pathname;
}

export interface LoginRequest extends LoginContext {
  readonly parts: LoginPageParts;
}
