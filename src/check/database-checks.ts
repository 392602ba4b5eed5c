/** The database: reachable and usable, in step with this machine, migrated, and with the rights of the service. */
import { join } from 'node:path';
import { describeFailure } from '../database/connection/start-failure.ts';
import { isCluster } from '../database/embedded/embedded-cluster.ts';
import { findMissingRights, readMigrationState } from '../database/migrate/inspect-database.ts';
import { DatabaseClock } from '../domain/core/database-clock.ts';
import { type Check, fail, pass, warn } from '../modules/check.ts';
import type { FullContext } from './check-context.ts';

export const DATABASE_CHECKS: readonly Check<FullContext>[] = [
  {
    check: 'database',
    settings: ['DATABASE_URL', 'DATA_DIR'],
    async run({ config, database }) {
      if (database instanceof Error) {
        return [fail(describeFailure(database), 'Nothing works without the database')];
      }
      if (!database && !isCluster(join(config.dataDir, 'postgres'))) {
        return [pass(`the first start sets Postgres up in ${config.dataDir}`)];
      }
      if (!database) {
        return [warn(`the embedded Postgres in ${config.dataDir} does not run`, 'Start Usher, and check again')];
      }
      return [pass(`Postgres ${database.version} at ${database.place} can be used`)];
    },
  },
  {
    check: 'clock',
    settings: ['DATABASE_URL'],
    async run({ read, systemClock }) {
      if (!read) return [];
      const clock = new DatabaseClock(async () => {
        const [row] = await read((sql) => sql`select extract(epoch from clock_timestamp())::float8 * 1000 as time`);
        return row?.time;
      }, systemClock);
      // The first measurement is inexact.
      for (let time = 0; time < 2; time++) await clock.measure(0);
      try {
        clock.requireInStep();
      } catch (error) {
        return [fail(describeFailure(error), 'Usher does not start, and no expired row is deleted')];
      }
      const skew = Math.abs(systemClock() - clock.read().getTime());
      return [pass(`the clocks of this machine and Postgres differ by ${Math.round(skew)} ms`)];
    },
  },
  {
    check: 'migrations',
    settings: ['DATABASE_URL', 'MIGRATE_ON_START'],
    async run({ config, read }) {
      const state = await read?.((sql) => readMigrationState(sql, config.databaseSchema));
      if (!state) return [];
      const { known, pending, isNewer } = state;
      if (isNewer) {
        return [
          warn(
            'a later version of Usher has migrated the database',
            'This version works on it. Upgrade, or go on with going back',
          ),
        ];
      }
      if (pending === 0) return [pass(`all ${known} are applied`)];
      if (config.migrateOnStart) return [pass(`${pending} of ${known} are pending, and the next start applies them`)];
      return [fail(`${pending} of ${known} are pending`, 'Usher does not start. Apply them with npm run migrate')];
    },
  },
  {
    check: 'rights',
    settings: ['DATABASE_URL'],
    async run({ config, read }) {
      const { databaseSchema: schema, migrateOnStart } = config;
      const missing = await read?.((sql) => findMissingRights(sql, schema, { migrates: migrateOnStart }));
      if (!missing) return [];
      if (missing.length === 0) return [pass('the role has the rights that it needs')];
      const others = missing.length > 3 ? ` and ${missing.length - 3} more` : '';
      return [
        fail(
          `the role lacks ${missing.slice(0, 3).join(', ')}${others}`,
          'Calls fail. Grant what is missing, see "Two roles" in src/database/README.md',
        ),
      ];
    },
  },
];
