/** Ends `npm run db:generate`: drizzle-kit compares the schema with the last snapshot only, so the others go. */
import { readdir, rm } from 'node:fs/promises';

const META = new URL('../../../drizzle/meta/', import.meta.url);

const snapshots = (await readdir(META)).filter((name) => name.endsWith('_snapshot.json')).sort();
for (const name of snapshots.slice(0, -1)) await rm(new URL(name, META));
