/** A request to the console, and the calls that its pages make for the operator. */
import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import type { Fields } from '../../api/call-info.ts';
import { createAuditedCall } from '../../api/calls.ts';
import { requireProcedure } from '../../api/procedures.ts';
import type { ApplicationDetails } from '../../domain/applications/application.ts';
import { getApplication } from '../../domain/applications/get-application.ts';
import type { Call, Transactional } from '../../domain/core/call.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { OWN_APPLICATION_IDS } from '../../domain/core/own-applications.ts';
import { getUser } from '../../domain/users/get-user.ts';
import { headerOf } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { ConsoleParts } from './console-parts.ts';
import type { SignedInOperator } from './signed-in-operator.ts';

/** How long a statement of the console may take. */
const STATEMENT_MS = 2_000;

const EACH_STATEMENT = {
  get deadline() {
    return performance.now() + STATEMENT_MS;
  },
};

/** A refused form, to show it again with the error and the typed values. */
export interface Problem {
  readonly error: ServiceError;
  readonly form: URLSearchParams;
}

export interface ConsoleRequest {
  readonly context: HttpContext;
  readonly parts: ConsoleParts;
  /** The parameters of the path by name: `a` for `:a` of the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  /** A form with a file. Routes parse it after the operator is authorized. */
  readonly upload: Response | undefined;
  readonly call: Call;
  /** Has an empty user ID on the pages of the sign-in, which need no session. */
  readonly operator: SignedInOperator;
  readonly problem?: Problem;
}

/** Returns a call of the operator. `action` is the name of the RPC under which the audit log has its changes. */
export function createOperatorCall(
  context: HttpContext,
  parts: ConsoleParts,
  actor: string,
  action = '',
): Call & Transactional {
  const { clock, database, notices, onMessage } = parts;
  const own = { clock, database, notices, onMessage };
  return createAuditedCall(own, context, { actorType: 'console', actor, action }, EACH_STATEMENT);
}

type Performer = Pick<ConsoleRequest, 'context' | 'parts' | 'params'> &
  (Pick<ConsoleRequest, 'operator'> | { readonly actor: string });

/** Calls an RPC in process, as the operator. An update fails unless `ifVersion` is the stored version. @throws ServiceError */
export async function perform<Input extends DescMessage, Output extends DescMessage>(
  { context, parts, params, ...performer }: Performer,
  method: DescMethodUnary<Input, Output>,
  fields: Fields<Input>,
  ifVersion?: string,
): Promise<MessageInitShape<Output>> {
  const procedure = requireProcedure(parts.procedures, method);
  const actor = 'actor' in performer ? performer.actor : performer.operator.userId;
  const call = { ...createOperatorCall(context, parts, actor, procedure.action), ifVersion };
  const peer = { ipAddress: context.clientAddress, userAgent: headerOf(context, 'user-agent') ?? '' };
  const answer =
    procedure.credential === 'apiKey'
      ? await procedure.handle({ ...call, application: await findApplication(call, params.a) }, fields, peer)
      : await procedure.handle(call, fields, peer);
  // The type is erased in the table of procedures; the handler of this RPC returns its output.
  return answer as MessageInitShape<Output>;
}

/** Returns a call in the application of the path. @throws ServiceError `Application not found` */
export async function inApplication({
  call,
  params,
}: ConsoleRequest): Promise<Call & { application: ApplicationDetails }> {
  return { ...call, application: await findApplication(call, params.a) };
}

/** @throws ServiceError `Application not found`, also for the applications of Usher itself */
export async function findApplication(call: Call, id: string | undefined): Promise<ApplicationDetails> {
  if (OWN_APPLICATION_IDS.some((own) => own === id)) throw new ServiceError('APPLICATION_NOT_FOUND');
  return getApplication(call, { applicationId: id });
}

/** Returns the ID of the user whose address or ID an operator has typed. @throws ServiceError `User not found` */
export async function findUserId({ call }: Pick<ConsoleRequest, 'call'>, typed: string): Promise<string> {
  return typed.includes('@') ? (await getUser(call, { email: typed })).id : typed;
}
