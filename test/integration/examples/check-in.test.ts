import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import {
  createTenant,
  createTestEvent,
  startTestService,
  type Tenant,
  type TestService,
} from '../../support/service.ts';
import { lacks, PYTHON_PATH } from '../../support/tools.ts';

const APP = join(REPOSITORY, 'test/examples/python/check_in.py');
/** Debian's, which has the packages that `apt-get` installs. */

describe.skipIf(lacks('PYTHON_STUBS'))('the Python application', () => {
  let service: TestService;
  let tenant: Tenant;
  let stubs: string;

  beforeAll(async () => {
    service = await startTestService();
    tenant = await createTenant(service);
    stubs = await createDirectory();
    const [command = ''] = /protoc .*/.exec(await readFile(APP, 'utf8')) ?? [];
    const { exitCode, stderr } = await runShell(command.replaceAll('_out=.', `_out=${stubs}`));
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  afterAll(() => service.close());

  test('checks an attendee in, once', async () => {
    const eventId = await createTestEvent(service, tenant);
    expect(await checkIn(eventId, 'Zoë')).toMatch(/^Zoë is checked in: \d\d:\d\d:\d\d$/);
    expect(await checkIn(eventId, 'Zoë')).toMatch(/^Zoë was already checked in: \d\d:\d\d:\d\d$/);
  });

  test('shows why Usher refuses', async () => {
    expect(await checkIn('unknown', 'Zoë')).toBe('NOT_FOUND: Event not found');
    expect(await checkIn('', 'Zoë')).toBe('INVALID_ARGUMENT: Validation failed');
    expect(await checkIn('unknown', 'Zoë', 'unknown')).toBe('UNAUTHENTICATED: Invalid API key');
  });

  /** Returns what it prints. */
  function checkIn(eventId: string, attendeeId: string, apiKey = tenant.apiKey): Promise<string> {
    const env = {
      USHER_ADDRESS: `127.0.0.1:${service.port}`,
      API_KEY: apiKey,
      PYTHONPATH: stubs,
      PYTHONIOENCODING: 'utf8',
      PYTHONDONTWRITEBYTECODE: '1',
    };
    return new Promise((resolve) => {
      execFile(PYTHON_PATH, [APP, eventId, attendeeId], { env }, (_, stdout, stderr) =>
        resolve((stdout + stderr).trim()),
      );
    });
  }
});
