/** Every route of the console: one table, which also drives the tests. */
import { APPLICATION_ROUTES } from './application-routes.ts';
import { showAudit } from './pages/audit.ts';
import { END_USER_ACTS, showDeleteUser, showEraseUser } from './pages/end-user.ts';
import { showHealth } from './pages/health.ts';
import { showOverview } from './pages/overview.ts';
import { search } from './pages/search.ts';
import { showUser, USER_ACTS } from './pages/user.ts';
import { createUserByForm, showNewUser, showUsers } from './pages/users.ts';
import type { ConsoleRoute } from './route.ts';
import { endSignIn, finishSignIn, startSignIn } from './sign-in.ts';

export const ROUTES: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/login', role: 'anyone', run: startSignIn },
  { method: 'GET', path: '/callback', role: 'anyone', run: finishSignIn },
  { method: 'POST', path: '/sign-out', role: 'anyone', run: endSignIn },
  // Every request renews the session.
  { method: 'POST', path: '/renew', role: 'viewer', isForTeams: true, run: async () => ({ redirect: '/' }) },
  { method: 'GET', path: '/', role: 'viewer', isForTeams: true, run: showOverview },
  { method: 'GET', path: '/search', role: 'viewer', run: search },
  { method: 'GET', path: '/health', role: 'viewer', run: showHealth },
  { method: 'GET', path: '/audit', role: 'viewer', run: showAudit },

  { method: 'GET', path: '/users', role: 'viewer', run: showUsers },
  { method: 'POST', path: '/users', role: 'admin', run: createUserByForm, showForm: showNewUser },
  { method: 'GET', path: '/users/new', role: 'admin', run: showNewUser },
  { method: 'POST', path: '/users/new', role: 'admin', run: createUserByForm, showForm: showNewUser },
  { method: 'GET', path: '/users/:u', role: 'viewer', run: showUser },
  { method: 'POST', path: '/users/:u', role: 'admin', run: USER_ACTS.update, showForm: showUser },
  { method: 'POST', path: '/users/:u/deactivate', role: 'support', run: USER_ACTS.deactivate },
  { method: 'POST', path: '/users/:u/end-sessions', role: 'support', run: USER_ACTS.endSessions },
  { method: 'POST', path: '/users/:u/reactivate', role: 'support', run: USER_ACTS.reactivate },
  { method: 'GET', path: '/users/:u/delete', role: 'admin', isSensitive: true, run: showDeleteUser },
  {
    method: 'POST',
    path: '/users/:u/delete',
    role: 'admin',
    isSensitive: true,
    run: END_USER_ACTS.delete,
    showForm: showDeleteUser,
  },
  { method: 'GET', path: '/users/:u/erase', role: 'admin', isSensitive: true, run: showEraseUser },
  {
    method: 'POST',
    path: '/users/:u/erase',
    role: 'admin',
    isSensitive: true,
    run: END_USER_ACTS.erase,
    showForm: showEraseUser,
  },

  ...APPLICATION_ROUTES,
];
