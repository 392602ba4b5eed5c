/**
 * Preloaded into a server: makes every function of `src` note that it is entered for a request, not for a timer of the
 * server. The server's parent sends a message to get the notes since its last message.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';

/** A function that was entered. */
export interface Entry {
  /** From `src`, as `api/pipeline.ts`. */
  readonly file: string;
  /** Empty for a function without a name. */
  readonly name: string;
  /** Where it begins in its file. */
  readonly start: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly body?: unknown;
  readonly id?: unknown;
  readonly key?: unknown;
  readonly value?: unknown;
}

/** The function that is the first of a request. */
const FIRST = 'http/listener.ts onRequest';

const SRC = new URL('../../src/', import.meta.url);
const FUNCTIONS = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

let entries: Entry[] = [];
const known: Entry[] = [];
const request = new AsyncLocalStorage<true>();
Object.assign(globalThis, {
  enterFunction: (index: number) => {
    const entry = known[index];
    if (!entry) return;
    if (`${entry.file} ${entry.name}` === FIRST) request.enterWith(true);
    if (request.getStore()) entries.push(entry);
  },
});
process.on('message', () => {
  process.send?.({ entries });
  entries = [];
});

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith(SRC.href) || !url.endsWith('.ts')) return loaded;
    const file = relative(fileURLToPath(SRC), fileURLToPath(url));
    return {
      format: 'module',
      source: instrument(file, stripTypeScriptTypes(String(loaded.source))),
      shortCircuit: true,
    };
  },
});

/** Returns the code with a note at the begin of each function. */
function instrument(file: string, code: string): string {
  const insertions: { readonly at: number; readonly text: string }[] = [];
  visit(parseAst(code), '', (node, name) => {
    if (!FUNCTIONS.test(node.type) || !isNode(node.body)) return;
    const index = known.push({ file, name, start: node.start }) - 1;
    const note = `enterFunction(${index})`;
    const { type, start, end } = node.body;
    if (type === 'BlockStatement') insertions.push({ at: start + 1, text: ` ${note};` });
    else insertions.push({ at: start, text: `(${note}, ` }, { at: end, text: ')' });
  });
  return insertions
    .sort((a, b) => b.at - a.at)
    .reduce((text, insertion) => text.slice(0, insertion.at) + insertion.text + text.slice(insertion.at), code);
}

/** Visits the nodes of a tree, each with the name that it is given or that the node around it has. */
function visit(node: Node, given: string, act: (node: Node, name: string) => void): void {
  const name = nameOf(node.id) ?? nameOf(node.key) ?? given;
  act(node, name);
  const inner = node.value === undefined && node.type !== 'VariableDeclarator' ? '' : name;
  for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, inner, act);
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && 'name' in node ? String(node.name) : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
