/** Who may call. Credentials are checked before the body of a request is read, on every protocol. */
import type { DescMethod } from '@bufbuild/protobuf';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import { authenticateAdmin } from '../domain/authenticate-admin.ts';
import type { Application } from '../domain/call.ts';
import { headerOf, type RequestContext } from '../http/http-context.ts';

export class Credentials {
  readonly #apiKeys: ApiKeys;
  readonly #adminKey: string;

  constructor(apiKeys: ApiKeys, adminKey: string) {
    this.#apiKeys = apiKeys;
    this.#adminKey = adminKey;
  }

  /**
   * Returns the application of the caller's API key.
   *
   * @param deadline in milliseconds of `performance.now()`
   * @throws ServiceError `Invalid API key`
   */
  authenticateApplication(context: RequestContext, method: DescMethod, deadline: number): Promise<Application> {
    // Interface, "Errors": DeleteEvent alone says that the application is gone.
    const options = method === EventService.method.deleteEvent ? { deletedMessage: 'Application not found' } : {};
    return this.#apiKeys.authenticate(headerOf(context, 'x-api-key'), { deadline, ...options });
  }

  /** @throws ServiceError `Invalid admin key` */
  authenticateAdmin(context: RequestContext): void {
    authenticateAdmin(headerOf(context, 'x-admin-key'), this.#adminKey);
  }
}
