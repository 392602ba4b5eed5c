/** Who may call. A call goes through its gate before the body of its request is read, on every protocol. */
import type { DescMethod } from '@bufbuild/protobuf';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import { authenticateAdmin } from '../domain/authenticate-admin.ts';
import type { RpcCall } from './call.ts';

/** Throws where the call is not to be let in. */
export type Gate = (call: RpcCall, method: DescMethod) => Promise<void> | void;

/** Lets in whoever has the API key of an application. */
export function createApplicationGate(apiKeys: ApiKeys): Gate {
  return async (call, method) => {
    // Interface, "Errors": DeleteEvent alone tells that the application is gone.
    const options = method === EventService.method.deleteEvent ? { deletedMessage: 'Application not found' } : {};
    call.application = await apiKeys.authenticate(call.apiKey, { deadline: call.deadline, ...options });
  };
}

/** Lets in whoever has the admin key. */
export function createAdminGate(adminKey: string): Gate {
  return (call) => authenticateAdmin(call.adminKey, adminKey);
}

/** Lets everyone in: health and reflection. */
export const openGate: Gate = () => {};
