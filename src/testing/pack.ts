/** `npm run testing:pack <directory>`: compiles Usher with the tools for tests, and packs it for `npm install`. */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';

const REPOSITORY = join(import.meta.dirname, '../..');
const SOURCE = join(REPOSITORY, 'src');

const [, , directory] = process.argv;
if (directory) pack(directory);
else {
  process.stderr.write('usage: npm run testing:pack <directory>\n');
  process.exitCode = 1;
}

/** Node runs no TypeScript below `node_modules`, so the package holds JavaScript. */
function pack(destination: string): void {
  const build = mkdtempSync(join(tmpdir(), 'usher-testing-'));
  try {
    const run = (command: string, ...rest: string[]) =>
      execFileSync(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
    run(join(REPOSITORY, 'node_modules/.bin/tsc'), '--project', import.meta.dirname, '--outDir', build);
    // Styles, scripts of pages, catalogues and documents, which Usher reads when it starts.
    for (const entry of readdirSync(SOURCE, { withFileTypes: true })) {
      if (!entry.isDirectory() || ['client', 'testing'].includes(entry.name)) continue;
      const filter = (path: string) => !['.ts', '.md'].includes(extname(path));
      cpSync(join(SOURCE, entry.name), join(build, 'src', entry.name), { recursive: true, filter });
    }
    cpSync(join(REPOSITORY, 'drizzle'), join(build, 'drizzle'), { recursive: true });
    writeFileSync(join(build, 'package.json'), JSON.stringify(describePackage(), undefined, 2));
    copyFileSync(join(import.meta.dirname, 'README.md'), join(build, 'README.md'));
    copyFileSync(join(REPOSITORY, 'LICENSE'), join(build, 'LICENSE'));
    mkdirSync(destination, { recursive: true });
    process.stdout.write(run('npm', 'pack', build, '--silent', '--pack-destination', destination));
  } finally {
    rmSync(build, { recursive: true });
  }
}

/** The package depends on what the server and the client depend on, and has the version of the server. */
function describePackage() {
  const read = (path: string) => JSON.parse(readFileSync(join(REPOSITORY, path), 'utf8'));
  const { version, license, dependencies, optionalDependencies } = read('package.json');
  const ofClient = read('src/client/package.json').dependencies;
  const entry = (name: string) => ({ types: `./src/testing/${name}.d.ts`, default: `./src/testing/${name}.js` });
  return {
    name: 'usher-testing',
    version,
    description: 'Usher in your tests: the real login server, with a clock that you move, its e-mails and its outages.',
    license,
    type: 'module',
    engines: { node: '>=24' },
    bin: { 'usher-testing': './src/testing/command.js' },
    exports: { '.': entry('usher-testing'), './vitest': entry('vitest') },
    dependencies: { ...ofClient, ...dependencies },
    optionalDependencies,
  };
}
