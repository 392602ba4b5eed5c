/** `npm run db:generate`: drizzle-kit compares the schema with the last snapshot only, so the others go. */
import { spawnSync } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';

const META = new URL('../../../drizzle/meta/', import.meta.url);

const { status } = spawnSync('drizzle-kit', ['generate', ...process.argv.slice(2)], { stdio: 'inherit' });
process.exitCode = status ?? 1;
const snapshots = (await readdir(META)).filter((name) => name.endsWith('_snapshot.json')).sort();
for (const name of snapshots.slice(0, -1)) await rm(new URL(name, META));
