/** Who may call. Credentials are checked before the body of a request is read, on every protocol. */
import type { DescMethod } from '@bufbuild/protobuf';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import { authenticateAdmin } from '../domain/authenticate-admin.ts';
import type { Application } from '../domain/call.ts';
import { headerOf, type RequestContext } from '../http/http-context.ts';

export interface Credentials {
  readonly apiKeys: ApiKeys;
  readonly adminKey: string;
}

/** Returns the application of the caller's API key. @throws ServiceError `Invalid API key` */
export function requireApplication(
  { apiKeys }: Credentials,
  context: RequestContext,
  { method, deadline }: { method: DescMethod; deadline: number },
): Promise<Application> {
  // Interface, "Errors": DeleteEvent alone says that the application is gone.
  const deletedReason = method === EventService.method.deleteEvent ? 'APPLICATION_DELETED' : 'INVALID_API_KEY';
  return apiKeys.authenticate(headerOf(context, 'x-api-key'), { deadline, deletedReason });
}

/** @throws ServiceError `Invalid admin key` */
export function requireAdmin({ adminKey }: Credentials, context: RequestContext): void {
  authenticateAdmin(headerOf(context, 'x-admin-key'), adminKey);
}
