/** Serves the logos of applications, also if `AUTH_PAGE_URL` is set. */
import type { Admission } from '../api/admission.ts';
import { type CallLog, serveCall } from '../api/calls.ts';
import { refuseUnlessRead, sendFailure } from '../api/envelope.ts';
import type { Database } from '../database/pool/database.ts';
import { findLogo } from '../domain/applications/find-logo.ts';
import { LOGO_PATH } from '../domain/applications/logo-path.ts';
import { send } from '../http/exchange.ts';
import type { HttpContext, PathHandler } from '../http/http-context.ts';

const ROUTE = { method: 'GET', path: `${LOGO_PATH}/:applicationId/:theme/:digest` };

/** A browser that opens the URL itself, or takes the image for a document, must run nothing and load nothing. */
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

interface LogoParts extends CallLog {
  /** Shared with the login page: neither needs a credential. */
  readonly admission: Admission;
  readonly clock: () => Date;
  readonly database: Database;
}

export function createLogoHandler(parts: LogoParts): PathHandler {
  return async (context) => {
    if (!context.path.startsWith(`${LOGO_PATH}/`)) return false;
    if (!refuseUnlessRead(context)) await serve(context, parts);
    return true;
  };
}

async function serve(context: HttpContext, parts: LogoParts) {
  const { admission, clock, database } = parts;
  const newCall = { name: `GET ${LOGO_PATH}`, protocol: 'login', route: ROUTE } as const;
  await serveCall(parts, context, newCall, async ({ deadline }) => {
    const [applicationId = '', theme = '', digest = '', ...others] = context.path
      .slice(LOGO_PATH.length + 1)
      .split('/');
    const call = { run: database.within(deadline), now: clock() };
    const find = () => admission.run('', () => findLogo(call, { applicationId, theme, digest }));
    const logo = others.length === 0 ? await find() : undefined;
    if (logo) send(context, 200, logo.image, { ...HEADERS, 'content-type': logo.mediaType });
    else sendFailure(context, 'NOT_FOUND');
  });
}
