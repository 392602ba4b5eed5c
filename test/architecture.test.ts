/** The layers of src, and what keeps its files readable. The length and names of files: biome.json. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

interface SourceFile {
  /** From the root of the project, as `src/domain/core/errors.ts`. */
  readonly path: string;
  readonly text: string;
  /** What it imports: a path from the root, or the name of a package. */
  readonly imports: readonly string[];
  /** The imports that are left at run time, when types are erased. */
  readonly loads: readonly string[];
}

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readSource(join('src', name)));

/** From top to bottom. An import leads to a lower layer or stays in its own folder. */
const LAYERS = [
  ['main', 'generate', 'testing'],
  ['server', 'shutdown', 'first-screen', 'check'],
  ['metrics', 'reference'],
  ['modules', 'bootstrap'],
  ['login-page'],
  ['api', 'delivery', 'jobs'],
  ['mail', 'progress'],
  ['domain'],
  ['database', 'log', 'texts'],
  ['http', 'config', 'client', 'import-fast', 'pause'],
  ['encoding'],
];

/** What the files of a folder may import of ours, beside each other. */
const ALLOWED = [
  { folder: 'config', allowed: /^$/ },
  { folder: 'http', allowed: /^src\/encoding\// },
  { folder: 'client', allowed: /^gen\/usher\// },
  {
    folder: 'domain',
    allowed: /^src\/(database\/|encoding\/|pause\.ts$|config\/(email-address|email-domains)\.ts$)/,
  },
  { folder: 'encoding', allowed: /^$/ },
  { folder: 'api/rest', allowed: /^(gen|src)\/(?!api\/rpc\/)/ },
  { folder: 'api/rpc', allowed: /^(gen|src)\/(?!api\/rest\/)/ },
];

/** Every folder: its files and folders import each other in one direction only. */
const orders = [...new Set(sources.flatMap(({ path }) => foldersAbove(path)))].sort().map(findOrder);

/** State that a process has once, and why. */
const MODULE_STATE = {
  'src/delivery/http-exchange.ts wires':
    'Names the socket below a TLS socket, which Node does not tell. It ends with the socket.',
};

describe('the layers', () => {
  test('hold every folder of src', () => {
    expect([...new Set(sources.map(({ path }) => folderOf(path)))].sort()).toEqual(LAYERS.flat().sort());
  });

  test('import lower layers only', () => {
    const upward = arrowsFrom('src/', ({ path, imports }) =>
      imports
        .filter((imported) => imported.startsWith('src/') && folderOf(imported) !== folderOf(path))
        .filter((imported) => layerOf(folderOf(imported)) <= layerOf(folderOf(path))),
    );
    expect(upward).toEqual([]);
  });

  for (const { folder, order, circles } of orders) {
    test(`of ${folder} have an order, from the bottom: ${order}`, () => expect(circles).toEqual([]));
  }

  test('let a module import no other, and nothing but the list import a module', () => {
    const moduleOf = (path: string) => /^src\/modules\/([^/]+)\//.exec(path)?.[1];
    const foreign = arrowsFrom('src/', ({ path, imports }) =>
      imports.filter((name) => moduleOf(name) !== undefined && moduleOf(name) !== moduleOf(path)),
    );
    const others = foreign.filter((arrow) => !arrow.startsWith('src/modules/modules.ts -> '));
    // It stands for the provider, and everything after that is what production does.
    expect(others).toEqual(['src/testing/sign-in.ts -> src/modules/providers/domain/redeem-provider-answer.ts']);
  });

  test.each(ALLOWED)('let src/$folder import $allowed', ({ folder, allowed }) => {
    const isForeign = (name: string) => isOurs(name) && !name.startsWith(`src/${folder}/`) && !allowed.test(name);
    expect(arrowsFrom(`src/${folder}/`, ({ imports }) => imports.filter(isForeign))).toEqual([]);
  });

  test('let src/database load nothing of ours but the form of URLs', () => {
    const allowed = /^src\/(database\/|config\/database-url\.ts$)/;
    const isForeign = (name: string) => isOurs(name) && !allowed.test(name);
    expect(arrowsFrom('src/database/', ({ loads }) => loads.filter(isForeign))).toEqual([]);
  });

  test('keep transports out of the domain and the database, and packages out of http', () => {
    const transports = /^(@connectrpc\/|@bufbuild\/|@grpc\/|node:(http|http2|https|tls)$)/;
    for (const folder of ['src/domain/', 'src/database/']) {
      const foreign = arrowsFrom(folder, ({ imports }) => imports.filter((name) => transports.test(name)));
      // Connections to Postgres may be encrypted.
      expect(foreign.filter((arrow) => !/^src\/database\/connection\/.* node:tls$/.test(arrow))).toEqual([]);
    }
    const isPackage = (name: string) => !name.startsWith('node:') && !isOurs(name);
    expect(arrowsFrom('src/http/', ({ loads }) => loads.filter(isPackage))).toEqual([]);
  });

  test('import the driver of Postgres in one file of src/database only', () => {
    const users = sources.filter(({ imports }) => imports.includes('postgres')).map(({ path }) => path);
    // The log has to know the errors of Postgres, which quote what is not to be logged.
    expect(users.sort()).toEqual(['src/database/sql/driver.ts', 'src/log.ts']);
  });

  test('know Citus in src/database only', () => {
    const knowing = sources.filter(({ path, text }) => /citus/i.test(text) && !path.startsWith('src/database/'));
    expect(knowing.map(({ path }) => path)).toEqual([]);
  });

  test('load what most processes never need at its first use', () => {
    const heavy = ['@simplewebauthn/server', 'nodemailer'];
    expect(arrowsFrom('src/', ({ loads }) => loads.filter((name) => heavy.includes(name)))).toEqual([]);
  });

  test('have no circle of files that load each other', () => {
    const circles = sources.map(({ path }) => pathBetween(path, path)).filter((circle) => circle !== undefined);
    expect(circles).toEqual([]);
  });

  test('show all their imports to these tests', () => {
    for (const { path, text, imports } of sources) {
      expect(imports.length, path).toBe(text.match(/\bfrom '[^']+'(?: with \{[^}]*\})?;$|^import '/gm)?.length ?? 0);
    }
  });
});

describe('the code', () => {
  test('reads the environment in main.ts only, and in tests of applications', () => {
    const readers = sources.filter(({ text }) =>
      /process\s*\.\s*env\b|process\s*\[|\{[^}]*\benv\b[^}]*\} = process/.test(text),
    );
    const own = ['src/testing/temporary-directory.ts', 'src/testing/test-environment.ts'];
    expect(readers.map(({ path }) => path).sort()).toEqual(['src/main.ts', ...own]);
  });

  test('has no collections: utils, helpers, index or other files that export what others have', () => {
    const names = /(^|\/)(index|utils?|helpers?|common|misc|shared|types|constants)(\.ts$|\/)/;
    const isBarrel = (text: string) => /^(\s*export\b[^;]*\bfrom '[^']+';)+\s*$/.test(withoutComments(text));
    const collections = sources.filter(({ path, text }) => names.test(path) || isBarrel(text));
    expect(collections.map(({ path }) => path)).toEqual([]);
  });

  test('exports each name once', () => {
    const declaration = /^export (?:abstract |async )*(?:class|const|function\*?|interface|type) (\w+)/gm;
    const names = sources.flatMap(({ text }) => [...text.matchAll(declaration)].map(([, name]) => name));
    expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([]);
  });

  test('has no module-level state', () => {
    const stateful = sources.flatMap(({ path, text }) => findModuleState(text).map((name) => `${path} ${name}`));
    expect(stateful).toEqual(Object.keys(MODULE_STATE));
  });

  test('silences no checker', () => {
    const silencers = sources.filter(({ text }) => /@ts-(ignore|expect-error|nocheck)|biome-ignore/.test(text));
    expect(silencers.map(({ path }) => path)).toEqual([]);
  });
});

function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const statements = [...text.matchAll(/^(import|export)( type)? (?:[^'";]*? from )?'([^']+)'/gm)];
  const named = statements.map(([, , type, name = '']) => ({
    isType: type !== undefined,
    name: name.startsWith('.') ? normalize(join(dirname(path), name)) : name,
  }));
  return {
    path,
    text,
    imports: named.map(({ name }) => name),
    loads: named.filter(({ isType }) => !isType).map(({ name }) => name),
  };
}

function isOurs(name: string): boolean {
  return /^(gen|src)\//.test(name);
}

/**
 * Returns the names of variables, collections that begin empty, and instances of classes that can change, at the top of
 * a module or as static fields.
 */
function findModuleState(text: string): string[] {
  const constant = /^(?:RegExp|URL|Date|Html|TextDecoder|TextEncoder|PgDialect|Intl\.\w+)$/;
  const declarations = text.matchAll(
    /^(?:(?:export )?(const|let|var)| {2}(?:private )?(static)(?: readonly)?) (#?\w+)(?:[^=()]*= ([^;]*))?/gm,
  );
  return [...declarations].flatMap(([, keyword, , name = '', value = '']) => {
    const [, type = '', given = ''] = /^new ([\w.]+)(?:<[^(]*>)?\((\)?)/.exec(value) ?? [];
    const isCollection = type === 'Map' || type === 'Set';
    const isInstance = type !== '' && (isCollection ? given === ')' : !constant.test(type));
    return keyword === 'let' || keyword === 'var' || isInstance || /^(\[\]|\{\})$/.test(value) ? [name] : [];
  });
}

/** Returns an arrow for each import that `select` returns of the files below a folder. */
function arrowsFrom(folder: string, select: (file: SourceFile) => readonly string[]): string[] {
  const files = sources.filter(({ path }) => path.startsWith(folder));
  return files.flatMap((file) => select(file).map((imported) => `${file.path} -> ${imported}`));
}

/** The folders below `src` that a file is in, from the innermost. */
function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === 'src' ? [] : [folder, ...foldersAbove(folder)];
}

/** The folder below `src`, or the name of a file that stands alone. */
function folderOf(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

/**
 * Finds the order of what is in a folder, from the bottom: files and folders that import nothing beside them, then those
 * that import only these, and so on. What is left imports itself in a circle.
 */
function findOrder(folder: string) {
  const left = new Map<string, Set<string>>();
  const partOf = (path: string) => path.slice(folder.length + 1).split('/')[0] ?? '';
  for (const { path, imports } of sources.filter((file) => file.path.startsWith(`${folder}/`))) {
    const beside = imports.filter((name) => name.startsWith(`${folder}/`)).map(partOf);
    const imported = left.get(partOf(path)) ?? new Set();
    left.set(partOf(path), new Set([...imported, ...beside.filter((part) => part !== partOf(path))]));
  }
  const levels: string[][] = [];
  for (;;) {
    const level = [...left].filter(([, imported]) => ![...imported].some((part) => left.has(part)));
    if (level.length === 0) break;
    for (const [part] of level) left.delete(part);
    levels.push(level.map(([part]) => part).sort());
  }
  const circles = [...left].map(([part, imported]) => `${part} -> ${[...imported].filter((name) => left.has(name))}`);
  return { folder, order: levels.map((level) => level.join(' ')).join(' | '), circles };
}

function layerOf(folder: string): number {
  return LAYERS.findIndex((folders) => folders.includes(folder));
}

/** The chain of files, each loading the next, that leads from one to another. */
function pathBetween(from: string, to: string, seen = new Set<string>()): string[] | undefined {
  for (const next of sources.find(({ path }) => path === from)?.loads ?? []) {
    if (next === to) return [from, to];
    if (seen.has(next)) continue;
    seen.add(next);
    const rest = pathBetween(next, to, seen);
    if (rest) return [from, ...rest];
  }
  return undefined;
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
