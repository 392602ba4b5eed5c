/** Makes lines for the import of users: node src/run.js test/examples/convert-users/main.ts auth0 <file> > users.jsonl */
import { pipeline } from 'node:stream/promises';
import { convertUsers } from './convert-users.ts';

const [, , product, path] = process.argv;
const report = (line: string) => process.stderr.write(`${line}\n`);
try {
  await pipeline(convertUsers(product, path, report), process.stdout, { end: false });
} catch (error) {
  report(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
