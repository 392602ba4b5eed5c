import type { Procedures } from '../api/procedures.ts';
import { createProcedures } from '../api/services.ts';
import { MODULES } from './modules.ts';

/** No handler uses them: validation refuses an empty request before, or there is no database. */
const STAND_INS = {
  apiKeys: {},
  cipher: {},
  codeKeys: [],
  liveSessions: {},
  pageTokens: {},
  tokens: { issuer: 'http://localhost' },
  authPageUrl: 'http://localhost',
  health: { handlers: { check: () => {}, list: () => {} } },
};

/** Returns the RPCs of the core and of all modules, to describe them. */
export function createDescribedProcedures(): Procedures {
  const parts = STAND_INS as never;
  const rpcs = MODULES.flatMap((module) => module.createRpcs?.(parts, parts) ?? []);
  return createProcedures(
    parts,
    rpcs.flatMap(({ procedures }) => procedures),
  );
}
