/** Style and scripts that pages hold inline, without what only their readers need. */
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
 * Returns a module for `joinScripts`: without comments that fill a line, indentation, imports, and the word `export`.
 * So modules that are joined share what they export.
 */
export function readScript(file: URL): string {
  return readText(file)
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^import .*$/gm, '')
    .replace(/^export /gm, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim();
}

/** Returns one module. What the modules after the first declare stays theirs. */
export function joinScripts(first: string, others: readonly string[]): string {
  return [first, ...others.map((other) => `{\n${other}\n}`)].join('\n');
}

function readText(file: URL): string {
  return readFileSync(file, 'utf8');
}
