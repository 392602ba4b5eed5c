/** Checks the credential of a request before its body is read, on every protocol. */
import type { DescMethod } from '@bufbuild/protobuf';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import type { ApiKeyUsage } from '../domain/api-keys/api-key-usage.ts';
import type { ApiKeys, KeyOwner } from '../domain/api-keys/api-keys.ts';
import { ServiceError } from '../domain/core/errors.ts';
import type { AdminKeys } from '../domain/operators/admin-keys.ts';
import { headerOf, type RequestContext } from '../http/http-context.ts';
import { OPENED_BY } from './admin-rights.ts';

export interface Credentials {
  readonly apiKeys: ApiKeys;
  readonly adminKeys: AdminKeys;
  readonly clock: () => Date;
  readonly usage: ApiKeyUsage;
}

/** Returns the ID and the application of the caller's API key. @throws ServiceError `Invalid API key` */
export async function requireApplication(
  { apiKeys, clock, usage }: Credentials,
  context: RequestContext,
  { method, deadline }: { method: DescMethod; deadline: number },
): Promise<KeyOwner> {
  // Only DeleteEvent says that the application is deleted, because its contract documents that error.
  const deletedReason = method === EventService.method.deleteEvent ? 'APPLICATION_DELETED' : 'INVALID_API_KEY';
  const owner = await apiKeys.authenticate(headerOf(context, 'x-api-key'), { deadline, deletedReason });
  usage.record(owner.apiKeyId, clock());
  return owner;
}

/** Returns the name of the caller's admin key. @throws ServiceError `Invalid admin key`, `Missing right` */
export function requireAdmin(
  { adminKeys }: Pick<Credentials, 'adminKeys'>,
  context: RequestContext,
  { localName }: Pick<DescMethod, 'localName'>,
): string {
  // Only AdminService takes admin keys, and OPENED_BY has each of its RPCs.
  return requireRight({ adminKeys }, context, OPENED_BY[localName as keyof typeof OPENED_BY]);
}

/** Returns the name of an admin key that has one of the rights. @throws ServiceError `Invalid admin key`, `Missing right` */
export function requireRight(
  { adminKeys }: Pick<Credentials, 'adminKeys'>,
  context: RequestContext,
  openedBy: readonly string[],
): string {
  const { name, rights } = adminKeys.authenticate(headerOf(context, 'x-admin-key'));
  const isAllowed = rights.some((right) => right === 'all' || openedBy.includes(right));
  if (!isAllowed) throw new ServiceError('MISSING_RIGHT', { detail: `admin key ${name}` });
  return name;
}
