import { fileURLToPath } from 'node:url';

/** The directory of the figures, which is not under version control. */
export const figuresDirectory = fileURLToPath(new URL('../../../.bench', import.meta.url));
