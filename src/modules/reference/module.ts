/** The API reference at `/docs`, its OpenAPI documents, and the home page, which leads to them. */
import { resolve } from 'node:path';
import type { Module } from '../module.ts';
import { createReferenceEndpoints } from './endpoints.ts';

export const referenceModule: Module = {
  name: 'reference',
  settings: {},
  async open({ dataDir, databaseUrl }, core) {
    const url = `${core.tokens.issuer.replace(/\/$/, '')}/docs`;
    return {
      laterHandlers: [createReferenceEndpoints({ ...core, adminKeyFile: resolve(dataDir, 'admin-key') })],
      greeting: databaseUrl === undefined ? { title: 'Docs', url, text: url } : undefined,
    };
  },
  async generate(procedures) {
    const { writeReference } = await import('./generate.ts');
    await writeReference(procedures);
  },
};
