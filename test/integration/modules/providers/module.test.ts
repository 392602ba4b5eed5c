/** What providers add to a process: a check, the highest level of a sign-in, and a file that is read again. */
import { rename, rm, writeFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import type { CheckContext } from '../../../../src/modules/check.ts';
import type { Early } from '../../../../src/modules/module.ts';
import type { LoginProviderSettings } from '../../../../src/modules/providers/domain/login-providers.ts';
import { providersModule } from '../../../../src/modules/providers/module.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { testConfig } from '../../../support/service.ts';

const acme = await FakeProvider.start();
const down = await FakeProvider.start();
const outOfOrder = down.settings({ id: 'down', name: 'Down' });
await down.stop();
afterAll(() => acme.stop());

type Settings = Partial<LoginProviderSettings & { loginProvidersFile: string }>;
const config = testConfig('postgres://nobody@127.0.0.1/none');

function open(settings: Settings) {
  const early = {
    secrets: { encryptionKeys: config.secrets.encryptionKeys ?? [], oidcSigningKeys: [] },
  } as unknown as Early;
  const way = providersModule.offer?.({ ...config, loginProviderIds: undefined, ...settings }, early).pages?.signInWay;
  if (!way) throw new Error('There is no way to sign in');
  return way;
}

test('the check says of each provider whether it can be used, and why not', async () => {
  const loginProviders = [acme.settings(), outOfOrder];
  const context = {
    config: { ...config, loginProviders, loginProviderIds: undefined },
    publicUrl: 'https://usher.test',
  };
  const [check] = providersModule.checks ?? [];
  expect(await check?.run(context as unknown as CheckContext<never>)).toEqual([
    { level: 'ok', what: 'Acme can be used' },
    {
      level: 'failure',
      what: expect.stringMatching(/^Down cannot be used: ECONNREFUSED \(http:/),
      why: expect.stringContaining('Correct its issuer'),
    },
  ]);
});

test.each([
  [[], 1],
  [[{}], 1],
  [[{}, { assurance: { amr: { mfa: 2 } } }, { assurance: { amr: { phr: 3 } } }], 3],
])('providers with %j show the level %i at most', (all, level) => {
  const loginProviders = all.map((more, index) => acme.settings({ id: `acme-${index}`, ...more }));
  expect(open({ loginProviders }).highest).toBe(level);
});

test('the file is read again when it changes, and a bad one has no effect', { timeout: 60_000 }, async () => {
  const path = await acme.writeSettings();
  const replace = async (text: string) => {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  };
  const way = open({ loginProviders: [acme.settings()], loginProvidersFile: path });
  const log = new RecordedLog();
  const closing = new AbortController();
  const running = way.run?.({ logger: log.logger, signal: closing.signal });
  const ids = () => way.providers?.all.map(({ id }) => id);
  const messages = () => log.parsed.map(({ msg }) => msg);
  const WITHIN = { timeout: 30_000, interval: 100 };
  await replace(JSON.stringify([acme.settings({ id: 'other' })]));
  await expect.poll(ids, WITHIN).toEqual(['other']);
  await replace('[{"id":"secret"}]');
  await expect.poll(messages, WITHIN).toContain('login providers not read again');
  expect(log.text).not.toContain('"secret"');
  expect(ids()).toEqual(['other']);
  await rm(path);
  await writeFile(path, '[]');
  await expect.poll(ids, WITHIN).toEqual([]);
  expect(messages()).toContain('login providers read again');
  closing.abort();
  await running;
});

test('without a file, nothing is read', async () => {
  const log = new RecordedLog();
  await open({ loginProviders: [], loginProvidersFile: undefined as never }).run?.({
    logger: log.logger,
    signal: new AbortController().signal,
  });
  expect(log.lines).toEqual([]);
});
