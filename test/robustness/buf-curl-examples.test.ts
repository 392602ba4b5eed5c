/** The calls with `buf curl` of the API reference. */
import { afterAll, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { anchorOf } from '../../src/api/docs/anchor.ts';
import { toBufCurl } from '../../src/api/docs/example-commands.ts';
import { runExample } from '../support/reference-examples.ts';
import { createTenant, startTestService } from '../support/service.ts';

const service = await startTestService();
const tenant = await createTenant(service);
afterAll(() => service.close());

test.each(OPERATIONS.map((operation) => ({ ...operation, name: anchorOf(operation.method) })))(
  '$name has one that works',
  async (operation) => {
    const { exitCode, stdout, stderr } = await runExample(operation, toBufCurl(operation), { service, tenant });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    JSON.parse(stdout);
  },
);
