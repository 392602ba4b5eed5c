/** `npm run client:pack <directory>`: compiles the client and packs it for `npm install` and `npm publish`. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const REPOSITORY = join(import.meta.dirname, '../..');
const BIN = join(REPOSITORY, 'node_modules/.bin');

const [, , directory] = process.argv;
if (directory) pack(directory);
else {
  process.stderr.write('usage: npm run client:pack <directory>\n');
  process.exitCode = 1;
}

/** Node runs no TypeScript below `node_modules`, so the package holds JavaScript. */
function pack(destination: string): void {
  const build = mkdtempSync(join(tmpdir(), 'usher-client-'));
  try {
    const run = (command: string, ...rest: string[]) =>
      execFileSync(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
    run(join(BIN, 'tsc'), '--project', import.meta.dirname, '--outDir', build);
    for (const file of ['package.json', 'README.md']) copyFileSync(join(import.meta.dirname, file), join(build, file));
    copyFileSync(join(REPOSITORY, 'LICENSE'), join(build, 'LICENSE'));
    mkdirSync(destination, { recursive: true });
    process.stdout.write(run('npm', 'pack', build, '--silent', '--pack-destination', destination));
  } finally {
    rmSync(build, { recursive: true });
  }
}
