/** The environment, the files that it names, and the ports. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { requireFreePorts } from '../config/require-free-ports.ts';
import { findMisspeltSettings, findRemovedSettings } from '../config/unused-settings.ts';
import { type Check, type CheckFinding, fail, pass, warn } from '../modules/check.ts';
import { ALL_SETTINGS } from '../modules/modules.ts';
import { portsOfModules } from '../modules/open-modules.ts';
import type { FullContext } from './check-context.ts';

const SETTING_LIST = Object.values(ALL_SETTINGS);

export const SETTING_CHECKS: readonly Check<FullContext>[] = [
  {
    check: 'settings',
    settings: [],
    async run({ config, env }) {
      const variables = Object.keys(env);
      const names = SETTING_LIST.map(({ name }) => name);
      const unused = [
        ...findMisspeltSettings(names, variables).map(({ variable, setting }) => ({
          ...warn(`${variable} is unknown`, `Write ${setting}`),
          settings: [variable],
        })),
        ...findRemovedSettings(variables).map(({ variable, instead }) => ({
          ...warn(`${variable} has no effect any more`, instead),
          settings: [variable],
        })),
      ];
      const isLocal = config.databaseUrl !== undefined && config.publicUrl === undefined;
      const problems: CheckFinding[] = isLocal
        ? [{ ...warn('PUBLIC_URL is not set', 'Logins lead to localhost'), settings: ['PUBLIC_URL'] }]
        : [];
      const set = names.filter((name) => env[name]).length;
      return [pass(`${set} of ${names.length} settings are set, and all can be used`), ...unused, ...problems];
    },
  },
  {
    check: 'files',
    settings: ['DATA_DIR'],
    async run({ config, env }) {
      const secret = SETTING_LIST.filter(({ name, isFile }) => isFile === 'secret' && env[name]);
      const files = [...secret.map(({ name }) => [name, env[name] ?? '']), ['.env', '.env']];
      const open = await Promise.all(files.map(async ([name = '', path = '']) => findOpenFile(name, path)));
      const directory = config.databaseUrl === undefined ? await findDirectoryProblem(config.dataDir) : [];
      const problems = [...open.flat(), ...directory];
      return problems.length > 0 ? problems : [pass('only their owner and group can read the secrets')];
    },
  },
  {
    check: 'ports',
    settings: ['HOST', 'PORT', 'METRICS_PORT'],
    async run({ config, usher }) {
      // It has the ports.
      if (usher.isHere) return [];
      const { host, port, metricsHost, metricsPort = 0 } = config;
      const wanted = [
        { host, port, settings: ['HOST', 'PORT'] as const },
        { host: metricsHost, port: metricsPort, settings: ['METRICS_HOST', 'METRICS_PORT'] as const },
        ...portsOfModules(config),
      ];
      const problem = await requireFreePorts(wanted).then(
        () => undefined,
        (error: Error) => error.message,
      );
      return [
        problem === undefined
          ? pass('the ports are free')
          : fail(problem, 'Something else has the port, or an Usher with another ENCRYPTION_KEY_FILE'),
      ];
    },
  },
];

async function findOpenFile(name: string, path: string): Promise<CheckFinding[]> {
  const mode = await stat(path).then(
    (file) => file.mode,
    () => 0,
  );
  if ((mode & 0o007) === 0) return [];
  const why = `Every user of this machine can read or change it: chmod o= ${path}`;
  return [{ ...warn(`${path} has the mode ${(mode & 0o777).toString(8)}`, why), settings: [name] }];
}

async function findDirectoryProblem(directory: string): Promise<CheckFinding[]> {
  const found = await stat(directory).catch(() => undefined);
  // The first start creates it.
  if (!found) return [];
  const isWritable = await access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable) return [fail(`${directory} cannot be written to`, 'Postgres and the secrets are there')];
  return findOpenFile('DATA_DIR', directory);
}
