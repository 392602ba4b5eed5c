/** A request to the console, as its pages see it. */
import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import { type Fields, requireProcedure } from '../api/procedures.ts';
import type { ApplicationDetails } from '../domain/applications/application.ts';
import { getApplication } from '../domain/applications/get-application.ts';
import { OWN_APPLICATION_IDS } from '../domain/applications/own-applications.ts';
import { withAudit } from '../domain/audit/audit-event.ts';
import type { Call } from '../domain/call.ts';
import { ServiceError } from '../domain/errors.ts';
import { type HttpContext, headerOf } from '../http/http-context.ts';
import type { ConsoleParts } from './console-parts.ts';
import type { SignedInOperator } from './signed-in-operator.ts';

/** How long a statement of the console may take. */
const STATEMENT_MS = 2_000;

/** A form that was refused, to be shown again with what was typed. */
export interface Problem {
  readonly error: ServiceError;
  readonly form: URLSearchParams;
}

export interface ConsoleRequest {
  readonly context: HttpContext;
  readonly parts: ConsoleParts;
  /** What stands in the path for `:a` and its like. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  /** A form with a file, to be parsed for operators only. */
  readonly upload: Response | undefined;
  readonly call: Call;
  /** Only pages of the sign-in have none. */
  readonly operator: SignedInOperator;
  readonly problem?: Problem;
}

/** Returns a call whose changes the audit log has under the name of an RPC. */
export function createOperatorCall(context: HttpContext, parts: ConsoleParts, actor: string, action = ''): Call {
  const { clock, database, onMessage } = parts;
  const now = clock();
  const origin = { ipAddress: context.clientAddress, requestId: context.requestId };
  const run: Call['run'] = (statement, parameters) =>
    database.run(statement, parameters, performance.now() + STATEMENT_MS);
  return { run: withAudit(run, { actorType: 'console', actor, action, ...origin, now }), now, onMessage };
}

type Performer = Pick<ConsoleRequest, 'context' | 'parts' | 'params'> &
  (Pick<ConsoleRequest, 'operator'> | { readonly actor: string });

/** Calls an RPC in process, as the operator. An update may demand the version that it changes. @throws ServiceError */
export async function perform<Input extends DescMessage, Output extends DescMessage>(
  { context, parts, params, ...by }: Performer,
  method: DescMethodUnary<Input, Output>,
  fields: Fields<Input>,
  ifVersion?: string,
): Promise<MessageInitShape<Output>> {
  const procedure = requireProcedure(parts.procedures, method);
  const actor = 'actor' in by ? by.actor : by.operator.userId;
  const call = { ...createOperatorCall(context, parts, actor, procedure.action), ifVersion };
  const peer = { ipAddress: context.clientAddress, userAgent: headerOf(context, 'user-agent') ?? '' };
  const answer =
    procedure.credential === 'apiKey'
      ? await procedure.handle({ ...call, application: await findApplication(call, params.a) }, fields, peer)
      : await procedure.handle(call, fields, peer);
  // The handler of that RPC has returned it.
  return answer as MessageInitShape<Output>;
}

/** Returns a call in the application of the path. @throws ServiceError `Application not found` */
export async function inApplication({
  call,
  params,
}: ConsoleRequest): Promise<Call & { application: ApplicationDetails }> {
  return { ...call, application: await findApplication(call, params.a) };
}

/** Returns an application, but none of Usher's own. @throws ServiceError `Application not found` */
export async function findApplication(call: Call, id: string | undefined): Promise<ApplicationDetails> {
  if (OWN_APPLICATION_IDS.some((own) => own === id)) throw new ServiceError('APPLICATION_NOT_FOUND');
  return getApplication(call, { applicationId: id });
}
