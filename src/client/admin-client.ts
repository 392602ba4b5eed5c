/** The client of operators and of login pages: AdminService over Connect. */
import { type Client, createClient } from '@connectrpc/connect';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { createTransport, requireKey, type TransportOptions } from './transport.ts';

export interface UsherAdminClientOptions extends TransportOptions {
  /** An admin key. A secret: keep it on the server. */
  readonly adminKey: string;
}

/** Creates a client of AdminService. Failed calls reject with a `ConnectError`. */
export function createUsherAdminClient(options: UsherAdminClientOptions): Client<typeof AdminService> {
  requireKey('adminKey', options.adminKey);
  return createClient(AdminService, createTransport(options, { 'X-Admin-Key': options.adminKey }));
}
