import { OPERATIONS as ALL_OPERATIONS, type Operation } from '../../src/api/catalogue.ts';
import { pathOf } from '../../src/api/procedures.ts';
import { createDescribedProcedures } from '../../src/reference/described-procedures.ts';

const procedures = createDescribedProcedures();

/** The operations that Usher answers with the modules that it has. */
export const OPERATIONS: readonly Operation[] = ALL_OPERATIONS.filter(({ method }) => procedures.has(pathOf(method)));
