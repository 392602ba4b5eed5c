import type { Procedures } from '../api/procedures.ts';
import { createProcedures } from '../api/services.ts';

/** No handler uses them: validation refuses an empty request before, or there is no database. */
const STAND_INS = {
  apiKeys: {},
  cipher: {},
  codeKeys: [],
  liveSessions: {},
  pageTokens: {},
  providers: {},
  tokens: { issuer: 'http://localhost' },
  authPageUrl: 'http://localhost',
  health: { handlers: { check: () => {}, list: () => {} } },
};

/** Returns all RPCs, to describe them. */
export function createDescribedProcedures(): Procedures {
  return createProcedures(STAND_INS as never);
}
