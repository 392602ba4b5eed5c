/** The pages that ask before a user is deleted or erased. */

import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { invalidField } from '../../../domain/core/errors.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderConfirmation, requireName } from '../parts/confirmation.ts';
import type { ConsolePage } from '../route.ts';

const DELETE = {
  title: 'Delete a user',
  text: 'Every session ends, in every application. Nobody can sign in as this user again, and the address becomes free.',
  submit: 'Delete',
};
const ERASE = {
  title: 'Erase a user',
  text: 'Deletes the user, and permanently removes name, address and wallet, also from stored messages.',
  submit: 'Erase',
};

export const showDeleteUser = (request: ConsoleRequest) => show(request, DELETE);
export const showEraseUser = (request: ConsoleRequest) => show(request, ERASE);

async function show(request: ConsoleRequest, question: typeof DELETE): Promise<ConsolePage> {
  const { id, email } = await getUser(request.call, { userId: request.params.u });
  return renderConfirmation(request, { ...question, section: 'users', name: showEmail(email), back: `/users/${id}` });
}

const { deleteUser, eraseUser } = AdminService.method;

export const END_USER_ACTIONS = {
  delete: createAction(deleteUser, readOther, () => '/users?done=deleted'),
  erase: createAction(eraseUser, readOther, () => '/users?done=erased'),
};

/** Refuses the operator's own account, so that the last operator is not locked out by mistake. */
async function readOther(request: ConsoleRequest): Promise<{ userId: string }> {
  const { call, operator, params } = request;
  const { id, email } = await getUser(call, { userId: params.u });
  requireName(request, showEmail(email));
  if (id === operator.userId) throw invalidField('name', 'must not be your own');
  return { userId: id };
}
