/** Finds faults in the SQL of a template: of conditions, comparisons, columns, arguments, and of order. */
import { type Kind, OPPOSITES, type SqlChange } from './fault.ts';

/** A part of a file, and what becomes of it. */
interface SqlFault {
  readonly start: number;
  readonly end: number;
  readonly kind: Kind;
  readonly sql: SqlChange;
  readonly after: string;
}

interface Token {
  /** In small letters. An expression of the template is `$`. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

type Tokens = readonly Token[];
type Add = (part: Tokens, kind: Kind, sql: SqlChange, after: string) => void;

const TOKEN = /--.*|\s+|'(?:[^']|'')*'|"[^"]*"|[a-z_][\w$]*(?:\.[a-z_*][\w$]*)*|\d[\d_.]*|::|[<>=!@#%^&|~?*/+-]+|./giy;
/** What ends a condition, a list of columns, or one of an `order by`. */
const ENDS =
  /^(group|order|limit|offset|union|except|intersect|returning|for|on|join|left|right|inner|cross|full|set|then|else|end|having|window|do|where|when|using|from|rows|,|;)$/;
const STATEMENT = /^(select|with|insert|update|delete|values|case|order|set|,)$/;
const OPERAND = /^(?!(not|and|or|in|is|then|else|when|case|between|select|from|where)$)(\$|\)|[\w.]+)$/;
const FUNCTIONS: Readonly<Record<string, string>> = { min: 'max', max: 'min', greatest: 'least', least: 'greatest' };

/** @param holes the places of the template's expressions, with `${` and `}` */
export function findSqlFaults(text: string, start: number, end: number, holes: readonly (readonly [number, number])[]) {
  const tokens = readTokens(text, start, end, holes);
  const faults: SqlFault[] = [];
  const add: Add = (part, kind, sql, after) => {
    const [first, last] = [part[0], part.at(-1)];
    if (first && last) faults.push({ start: first.start, end: last.end, kind, sql, after });
  };
  // A part of a condition, which has no word before it.
  if (!STATEMENT.test(tokens[0]?.text ?? ',')) addConditions(tokens, tokens[0]?.text === 'and' ? 1 : 0, add, 2);
  let isTarget = false;
  for (const [index, { text: word }] of tokens.entries()) {
    const next = tokens[index + 1]?.text;
    // What a conflict is about, or what is distinct, is no condition.
    if (word === 'conflict' || word === 'do') isTarget = word === 'conflict';
    const isOn = word === 'on' && next !== 'conflict' && tokens[index - 1]?.text !== 'distinct';
    if (isOn || word === 'having' || word === 'when' || (word === 'where' && !isTarget))
      addConditions(tokens, index + 1, add);
    if (word in OPPOSITES) replace(tokens, index, 'comparison', OPPOSITES[word] ?? '', add);
    if (word in FUNCTIONS && next === '(') replace(tokens, index, 'argument', FUNCTIONS[word] ?? '', add);
    if (/^(coalesce|greatest|least)$/.test(word) && next === '(') addArguments(tokens, index + 2, add);
    if (word === 'order' && next === 'by') addOrders(tokens, index + 2, add);
    if (word === 'limit') add(readUntilEnd(tokens, index + 1), 'limit', { prefix: '', suffix: ' + 1' }, 'one more');
    if (word === 'set') addColumns(tokens, index, add);
  }
  return faults;
}

function readTokens(text: string, start: number, end: number, holes: readonly (readonly [number, number])[]): Token[] {
  const tokens: Token[] = [];
  for (let at = start; at < end; ) {
    const hole = holes.find(([from]) => from === at);
    TOKEN.lastIndex = at;
    const found = hole ? text.slice(...hole) : (TOKEN.exec(text)?.[0] ?? ' ');
    // A token ends before the next expression, as a comment does not.
    const stop = Math.min(at + found.length, hole ? end : (holes.find(([from]) => from > at)?.[0] ?? end), end);
    const isComment = !hole && found.startsWith('--');
    const next = isComment ? at + found.length : stop;
    const token = hole ? '$' : text.slice(at, stop).toLowerCase();
    if (!isComment && token.trim() !== '') tokens.push({ text: token, start: at, end: stop });
    at = next;
  }
  return tokens;
}

/** Returns the tokens up to what ends a clause, at the same depth of brackets. */
function readUntilEnd(tokens: Tokens, from: number, ends = ENDS): Tokens {
  let depth = 0;
  let to = from;
  for (; to < tokens.length; to++) {
    const word = tokens[to]?.text ?? '';
    const isFunction = tokens[to + 1]?.text === '(' && /^(left|right)$/.test(word);
    const isDistinctFrom = word === 'from' && tokens[to - 1]?.text === 'distinct';
    if (depth === 0 && !isFunction && !isDistinctFrom && ends.test(word)) break;
    if (word === '(' || word === 'case') depth++;
    if (word === ')' || word === 'end') depth--;
    if (depth < 0) break;
  }
  return tokens.slice(from, to);
}

/** Splits at a word or sign that stands outside of brackets. */
function split(tokens: Tokens, at: string): Tokens[] {
  const parts: Token[][] = [[]];
  let depth = 0;
  let isBetween = false;
  for (const token of tokens) {
    if (token.text === '(' || token.text === 'case') depth++;
    if (token.text === ')' || token.text === 'end') depth--;
    if (depth === 0 && token.text === 'between') isBetween = true;
    if (depth === 0 && token.text === at && !(isBetween && at === 'and')) parts.push([]);
    else parts.at(-1)?.push(token);
    if (depth === 0 && token.text === 'and') isBetween = false;
  }
  return parts;
}

/** @param fewest how many conditions there must be: one that stands alone may be part of another */
function addConditions(tokens: Tokens, from: number, add: Add, fewest = 1): void {
  const all = readUntilEnd(tokens, from);
  const either = split(all, 'or');
  for (const each of either) {
    if (either.length > 1) add(each, 'disjunct', { prefix: '(false and (', suffix: '))' }, 'false');
    const conditions = split(each, 'and').filter((condition) => !isOpen(condition) && condition[0]?.text !== 'true');
    if (conditions.length < (either.length > 1 ? 2 : fewest)) addGroup(conditions[0] ?? [], add);
    else
      for (const condition of conditions) {
        add(condition, 'conjunct', { prefix: '(true or (', suffix: '))' }, 'true');
        addGroup(condition, add);
      }
  }
}

/** Whether an expression stands beside another one: then it is more than a condition. */
function isOpen(condition: Tokens): boolean {
  return condition.some(({ text }, index) => text === '$' && OPERAND.test(condition[index - 1]?.text ?? ''));
}

/** Adds the conditions in brackets. */
function addGroup(condition: Tokens, add: Add): void {
  const from = condition[0]?.text === 'not' ? 1 : 0;
  if (condition[from]?.text === '(' && !STATEMENT.test(condition[from + 1]?.text ?? ''))
    addConditions(condition, from + 1, add, 2);
}

function replace(tokens: Tokens, index: number, kind: Kind, text: string, add: Add): void {
  add(tokens.slice(index, index + 1), kind, { text }, text);
}

function addArguments(tokens: Tokens, from: number, add: Add): void {
  for (const each of split(readUntilEnd(tokens, from, /^;$/), ',')) {
    const isText = each.length === 1 && each[0]?.text.startsWith("'");
    add(each, 'argument', isText ? { text: 'null' } : { prefix: 'case when false then (', suffix: ') end' }, 'null');
  }
}

function addOrders(tokens: Tokens, from: number, add: Add): void {
  const all = readUntilEnd(tokens, from, new RegExp(ENDS.source.replace(',|', '')));
  for (const each of split(all, ',')) {
    const at = each.findIndex(({ text }) => text === 'desc' || text === 'asc');
    if (at >= 0) replace(each, at, 'order', each[at]?.text === 'desc' ? 'asc' : 'desc', add);
    else if (each.at(-1)?.text !== '$') add(each, 'order', { prefix: '', suffix: ' desc' }, 'desc');
  }
}

/** A column of an update, or of a conflict, keeps its old value. */
function addColumns(tokens: Tokens, set: number, add: Add): void {
  const words = tokens.map(({ text }) => text);
  const isConflict = words[set - 2] === 'do';
  const verb = words.lastIndexOf(isConflict ? 'into' : 'update', set - (isConflict ? 2 : 1));
  if (verb < 0) return;
  const [table = '', second = '', third = ''] = words.slice(verb + 1);
  const alias = second === 'as' ? third : /^(set|\(|select|values|\$)$/.test(second) ? table : second;
  const all = readUntilEnd(tokens, set + 1, /^(from|where|returning|;)$/);
  for (const [column, sign, ...value] of split(all, ',')) {
    if (!column || sign?.text !== '=' || !/^\w+$/.test(column.text)) continue;
    const old = alias === '$' ? column.text : `${alias}.${column.text}`;
    add(value, 'column', { prefix: `case when true then ${old} else (`, suffix: ') end' }, old);
  }
}
