/** Every route of the console: one table, which also drives the tests. */
import { deleteUser, eraseUser, showDeleteUser, showEraseUser } from './pages/end-user.ts';
import { showOverview } from './pages/overview.ts';
import { deactivateUser, reactivateUser, showUser, updateUser } from './pages/user.ts';
import { createUser, showNewUser, showUsers } from './pages/users.ts';
import type { ConsoleRoute } from './route.ts';
import { finishSignIn, signOut, startSignIn } from './sign-in.ts';

export const ROUTES: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/login', role: 'anyone', run: startSignIn },
  { method: 'GET', path: '/callback', role: 'anyone', run: finishSignIn },
  { method: 'POST', path: '/sign-out', role: 'anyone', run: signOut },
  // Every request renews the session.
  { method: 'POST', path: '/renew', role: 'viewer', isForTeams: true, run: async () => ({ redirect: '/' }) },
  { method: 'GET', path: '/', role: 'viewer', isForTeams: true, run: showOverview },

  { method: 'GET', path: '/users', role: 'viewer', run: showUsers },
  { method: 'POST', path: '/users', role: 'admin', run: createUser, showForm: showNewUser },
  { method: 'GET', path: '/users/new', role: 'admin', run: showNewUser },
  { method: 'POST', path: '/users/new', role: 'admin', run: createUser, showForm: showNewUser },
  { method: 'GET', path: '/users/:u', role: 'viewer', run: showUser },
  { method: 'POST', path: '/users/:u', role: 'admin', run: updateUser, showForm: showUser },
  { method: 'POST', path: '/users/:u/deactivate', role: 'support', run: deactivateUser },
  { method: 'POST', path: '/users/:u/reactivate', role: 'support', run: reactivateUser },
  { method: 'GET', path: '/users/:u/delete', role: 'admin', isSensitive: true, run: showDeleteUser },
  {
    method: 'POST',
    path: '/users/:u/delete',
    role: 'admin',
    isSensitive: true,
    run: deleteUser,
    showForm: showDeleteUser,
  },
  { method: 'GET', path: '/users/:u/erase', role: 'admin', isSensitive: true, run: showEraseUser },
  {
    method: 'POST',
    path: '/users/:u/erase',
    role: 'admin',
    isSensitive: true,
    run: eraseUser,
    showForm: showEraseUser,
  },
];
