/** An action of the login page or the account page. */
import type { CallOutcome } from '../api/call-info.ts';
import type { LoginMethod } from '../config/login-methods.ts';
import type { ErrorReason } from '../domain/core/errors.ts';
import type { HttpContext } from '../http/http-context.ts';
import type { LoginRequest } from './login-request.ts';
import type { Form } from './responses.ts';

/** The reason that metrics and the log record for a request that was answered, and a detail for the log. */
export type Remark = Required<Pick<CallOutcome, 'reason'>> & Pick<CallOutcome, 'detail'>;

export interface Action {
  readonly method: 'GET' | 'POST';
  /** A last segment `*` stands for any name. */
  readonly path: string;
  /** The login method that must be enabled. */
  readonly needs?: LoginMethod;
  readonly form: Form;
  /** The reasons of refusals that are failed sign-ins. Wrong codes are counted where they are checked. */
  readonly failedSignIns?: readonly ErrorReason[];
  /** Reads fields that are not in the form or query, such as a provider in the path. */
  readonly readFields?: (context: HttpContext, form: string) => Partial<LoginRequest['fields']>;
  /** @throws ServiceError of the domain */
  run(request: LoginRequest): Promise<Remark | undefined | void>;
}
