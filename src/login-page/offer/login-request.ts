/** A request to the login page or the account page, as actions get it. */
import type { ApiParts } from '../../api/api.ts';
import type { CallOutcome } from '../../api/call-info.ts';
import type { LoginMethod } from '../../config/login-methods.ts';
import type { Call } from '../../domain/core/call.ts';
import type { ProviderNames } from '../../domain/identities/provider-names.ts';
import type { LoginCodeSettings } from '../../domain/login/login-code.ts';
import type { UnknownAddresses } from '../../domain/login/record-attempt.ts';
import type { SignUpRules } from '../../domain/login/sign-up-rules.ts';
import type { NoticeLinks } from '../../domain/notices/due-notices.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { MailQueue } from '../../mail/mail-queue.ts';
import type { NetworkLimit } from '../browser/network-limit.ts';
import type { Form } from '../pages/responses.ts';
import type { BrowserSignIn, RememberedSignIns } from './browser-sign-ins.ts';
import type { LoginContext } from './login-context.ts';
import type { SignInWays } from './sign-in-ways.ts';

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
  readonly unknownAddresses: UnknownAddresses;
}

export function loginPathOf({ authPageUrl }: Pick<LoginPageParts, 'authPageUrl'>): string {
  return new URL(authPageUrl).pathname;
}

export interface LoginRequest extends LoginContext {
  readonly parts: LoginPageParts;
  /** Notes why the answer refuses. Call it before the answer, which ends the call and writes its log line. */
  readonly note: (remark: Remark) => void;
}

/** The reason that metrics and the log record for a request that was answered, and a detail for the log. */
export type Remark = Required<Pick<CallOutcome, 'reason'>> & Pick<CallOutcome, 'detail'>;

/** An action of the login page or the account page. */
export interface Action {
  readonly method: 'GET' | 'POST';
  /** A last segment `*` stands for any name. */
  readonly path: string;
  /** The login method that must be enabled. */
  readonly needs?: LoginMethod;
  readonly form: Form;
  /** The method by which it signs people in: its refusals are kept as attempts. `provider` stands for that of the fields. */
  readonly signsInBy?: LoginMethod | 'provider' | 'remembered';
  /** Reads fields that are not in the form or query, such as a provider in the path. */
  readonly readFields?: (context: HttpContext, form: string) => Partial<LoginRequest['fields']>;
  /** @throws ServiceError of the domain */
  run(request: LoginRequest): Promise<Remark | undefined | void>;
}

/** What optional parts add to Usher's pages, taken together. */
export interface PageParts {
  /** In the order of the parts. */
  readonly browserSignIns: readonly BrowserSignIn[];
  readonly noticeLinks: NoticeLinks;
  readonly providers: ProviderNames;
  /** Undefined if browsers remember no sign-ins. */
  readonly rememberedSignIns: RememberedSignIns | undefined;
  readonly signInWays: SignInWays;
}
