/** Reads styles and scripts that pages contain inline, without comments and other parts that browsers do not need. */
import { readFileSync } from 'node:fs';

/** Returns the style without comments and most white space. */
export function readStyle(...files: readonly URL[]): string {
  return files
    .map(readText)
    .join('\n')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s*\n\s*/g, '\n')
    .replace(/(?<=[{}:;,])\s+/g, '')
    .replace(/ \{/g, '{')
    .replace(/;}/g, '}')
    .trim();
}

/**
 * Returns the text of a module for `joinScripts`, without whole-line comments, indentation, imports and the word
 * `export`. The first of the joined modules declares its exports where the others can use them.
 */
export function readScript(file: URL): string {
  return readText(file)
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^import .*$/gm, '')
    .replace(/^export /gm, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim();
}

/** Joins scripts into one module. Each script after the first has its own scope. */
export function joinScripts(first: string, others: readonly string[]): string {
  return [first, ...others.map((other) => `{\n${other}\n}`)].join('\n');
}

function readText(file: URL): string {
  return readFileSync(file, 'utf8');
}
