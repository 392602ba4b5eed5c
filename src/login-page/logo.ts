/** Serves the logos of applications, also if `AUTH_PAGE_URL` is set. */
import type { Admission } from '../api/admission.ts';
import { type CallLog, serveCall } from '../api/calls.ts';
import { refuseMethod, sendFailure } from '../api/envelope.ts';
import type { Database } from '../database/pool/database.ts';
import { findLogo } from '../domain/applications/find-logo.ts';
import { LOGO_PATH } from '../domain/applications/logo-path.ts';
import { INERT_HEADERS, send } from '../http/exchange.ts';
import type { PathHandler } from '../http/http-context.ts';
import { type HttpRoute, serveRoutes } from '../http/route-table.ts';

const ROUTE = { method: 'GET', path: `${LOGO_PATH}/:applicationId/:theme/:digest` };

const HEADERS = { ...INERT_HEADERS, 'cache-control': 'public, max-age=31536000, immutable' };

interface LogoParts extends CallLog {
  /** Shared with the login page: neither needs a credential. */
  readonly admission: Admission;
  readonly clock: () => Date;
  readonly database: Database;
}

export function createLogoHandler(parts: LogoParts): PathHandler {
  const { admission, clock, database } = parts;
  const newCall = { name: `GET ${LOGO_PATH}`, protocol: 'login', route: ROUTE } as const;
  const run: HttpRoute['run'] = (context, { applicationId = '', theme = '', digest = '' }) =>
    serveCall(parts, context, newCall, async ({ deadline }) => {
      const call = { run: database.within(deadline), now: clock() };
      const logo = await admission.run('', () => findLogo(call, { applicationId, theme, digest }));
      if (logo) send(context, 200, logo.image, { ...HEADERS, 'content-type': logo.mediaType });
      else sendFailure(context, 'NOT_FOUND');
    });
  return serveRoutes([{ ...ROUTE, run }], refuseMethod);
}
