/** Writes what is generated from the RPCs. Run by `npm run generate`. */
import { createDescribedProcedures } from './modules/described-procedures.ts';
import { MODULES } from './modules/modules.ts';

for (const { generate } of MODULES) await generate?.(createDescribedProcedures());
