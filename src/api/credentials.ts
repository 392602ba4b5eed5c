/** Checks the admin key of a request before its body is read, on every protocol. */
import type { DescMethod } from '@bufbuild/protobuf';
import { ServiceError } from '../domain/core/errors.ts';
import type { AdminKeys } from '../domain/operators/admin-keys.ts';
import { headerOf } from '../http/exchange.ts';
import type { RequestContext } from '../http/http-context.ts';
import { OPENED_BY } from './admin-rights.ts';

/** Returns the name of the caller's admin key. @throws ServiceError `Invalid admin key`, `Missing right` */
export function requireAdmin(
  { adminKeys }: { readonly adminKeys: AdminKeys },
  context: RequestContext,
  { localName }: Pick<DescMethod, 'localName'>,
): string {
  // Only AdminService takes admin keys, and OPENED_BY has each of its RPCs.
  return requireRight({ adminKeys }, context, OPENED_BY[localName as keyof typeof OPENED_BY]);
}

/** Returns the name of an admin key that has one of the rights. @throws ServiceError `Invalid admin key`, `Missing right` */
export function requireRight(
  { adminKeys }: { readonly adminKeys: AdminKeys },
  context: RequestContext,
  openedBy: readonly string[],
): string {
  const { name, rights } = adminKeys.authenticate(headerOf(context, 'x-admin-key'));
  const isAllowed = rights.some((right) => right === 'all' || openedBy.includes(right));
  if (!isAllowed) throw new ServiceError('MISSING_RIGHT', { detail: `admin key ${name}` });
  return name;
}
