import { fileURLToPath } from 'node:url';

/** Where the figures and the plot go; not under version control. */
export const figuresDirectory = fileURLToPath(new URL('../../../.bench', import.meta.url));
