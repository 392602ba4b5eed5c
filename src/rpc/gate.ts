/** Who may call. A gate runs before the body of a request is read, on every protocol. */
import type { DescMethod } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { authenticateAdmin } from '../core/admin/authenticate-admin.ts';
import type { ApiKeys } from '../core/auth/authenticate-application.ts';
import { callOf, type RpcCall } from './call.ts';
import { toConnectError } from './errors.ts';

export type Gate = (context: HandlerContext) => Promise<void>;

/** Lets in whoever has the API key of an application. */
export function createApplicationGate(apiKeys: ApiKeys, logger: Logger): Gate {
  return createGate(logger, async (call, method) => {
    // Interface, "Errors": DeleteEvent alone tells that the application is gone.
    const options = method === EventService.method.deleteEvent ? { deletedMessage: 'Application not found' } : {};
    call.application = await apiKeys.authenticate(call.apiKey, call.run, options);
  });
}

/** Lets in whoever has the admin key. */
export function createAdminGate(adminKey: string, logger: Logger): Gate {
  return createGate(logger, (call) => authenticateAdmin(call.adminKey, adminKey));
}

/** Lets everyone in: health and reflection. */
export function createOpenGate(logger: Logger): Gate {
  return createGate(logger, () => {});
}

function createGate(logger: Logger, admit: (call: RpcCall, method: DescMethod) => Promise<void> | void): Gate {
  return async (context) => {
    const call = callOf(context);
    try {
      if (call.rejection) throw call.rejection;
      await admit(call, context.method);
      call.signal = context.signal;
      call.stage = 'decoding';
    } catch (error) {
      const answer = toConnectError(error, call, logger);
      call.code = answer.code;
      throw answer;
    }
  };
}
