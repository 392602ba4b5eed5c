/** Writes what describes the RPCs of Usher with its modules. Run by `npm run generate`. */
import { writeReference } from './api/openapi/generate.ts';
import { createDescribedProcedures } from './modules/described-procedures.ts';

await writeReference(createDescribedProcedures());
