/** Finds the faults of a file, and returns its code with all of them, each behind a switch. */
import { createHash } from 'node:crypto';
import { parseAst } from 'vitest/node';
import { type Fault, type FaultyFile, type Kind, OPPOSITES } from './fault.ts';
import { findSqlFaults } from './find-sql-faults.ts';

/** A node of ESTree, as far as it is read here. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [name: string]: unknown;
}

/** A text that comes before the part of this length, or after it. */
interface Edit {
  readonly at: number;
  readonly text: string;
  readonly isEnd: boolean;
  readonly length: number;
}

type Wrapped = Pick<Fault, 'kind' | 'before' | 'after' | 'isStatic' | 'sql'>;

const FUNCTION = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;
const METHODS: Readonly<Record<string, string>> = { some: 'every', every: 'some', min: 'max', max: 'min' };
/** Calls that only tell people something, or that a process ends without. */
const TOLD = /^(await )?(\w+\.)*(log|logger|span|console|super|progress)\b|\.(unref|setAttribute)\(/;
const IS_LIMIT = /^(min|max|burst|limit)$/;
const IS_CONSTANT = /^[A-Z][A-Z_]*$/;
const IS_TIME = /_(MS|SECONDS|MINUTES|HOURS)$/;
const EMPTY = /^(undefined|null|0|''|new \w+(<.*>)?\(\)|\[\]|\{\})$/s;
/** Where a choice or a default mostly decides what somebody sees: others have none. */
const SHOWS = /\/(pages|parts)\//;
/** The tag of a statement or a part of one. What only Citus gets is not sent here. */
const SQL_TAG = /^(sql|statement\b.*(?<!\.ifDistributed))$/s;

export function findFaults(file: string, text: string): FaultyFile {
  const names = new Map<string, number>();
  const lines = text.split('\n');
  const faults: Fault[] = [];
  const edits: Edit[] = [];

  const add = (start: number, end: number, wrapped: Wrapped, wrap: (id: string) => readonly [string, string]) => {
    const name = [file, wrapped.kind, wrapped.before, wrapped.after].join('\n');
    const count = (names.get(name) ?? 0) + 1;
    names.set(name, count);
    const id = `f${createHash('sha256').update(`${name}\n${count}`).digest('hex').slice(0, 12)}`;
    const line = text.slice(0, start).split('\n').length;
    faults.push({ id, file, line, answer: findAnswer(lines, line, wrapped.kind), ...wrapped });
    const [before, after] = wrap(id);
    edits.push({ at: start, text: before, isEnd: false, length: end - start });
    edits.push({ at: end, text: after, isEnd: true, length: end - start });
  };
  const sourceOf = ({ start, end }: Node) => text.slice(start, end);
  const replace = (node: Node, kind: Kind, after: string, isStatic: boolean, shown = after) => {
    const wrapped = { kind, before: sourceOf(node), after: shown, isStatic };
    add(node.start, node.end, wrapped, (id) => [`($fault('${id}') ? (${after}) : (`, '))']);
  };
  /** Replaces what is asked for being true only. The tests in which it has that value anyway do not see the fault. */
  const decide = (node: Node, kind: Kind, after: 'true' | 'false', isStatic: boolean) => {
    const wrapped = { kind, before: sourceOf(node), after, isStatic };
    add(node.start, node.end, wrapped, (id) => [`$decide('${id}', ${after}, (`, '))']);
  };
  const removeStatement = (node: Node, isStatic: boolean) => {
    const wrapped = { kind: 'call', before: sourceOf(node), after: '', isStatic } as const;
    add(node.start, node.end, wrapped, (id) => [`{ if (!$fault('${id}')) `, ' }']);
  };
  const removeArgument = (node: Node, isStatic: boolean) => {
    const wrapped = { kind: 'conjunct', before: sourceOf(node), after: '', isStatic } as const;
    add(node.start, node.end, wrapped, (id) => [`...($fault('${id}') ? [] : [`, '])']);
  };

  const isCovered = (node: Node, parent: Node | undefined) =>
    parent?.type === 'LogicalExpression' ||
    parent?.type === 'UnaryExpression' ||
    ((parent?.type === 'IfStatement' || parent?.type === 'ConditionalExpression') && parent.test === node);

  const visit = (node: Node, parent: Node | undefined, isStatic: boolean): void => {
    switch (node.type) {
      case 'IfStatement':
        decide(node.test as Node, 'guard', 'false', isStatic);
        break;
      case 'ConditionalExpression':
        if (!SHOWS.test(file))
          for (const value of ['true', 'false'] as const) decide(node.test as Node, 'choice', value, isStatic);
        break;
      case 'LogicalExpression': {
        const { left, right, operator } = node as Node & { left: Node; right: Node };
        const value = operator === '&&' ? 'true' : 'false';
        // What is empty satisfies the compiler.
        if (operator === '??' && !EMPTY.test(sourceOf(right)) && !SHOWS.test(file))
          replace(right, 'default', 'undefined', isStatic);
        if (operator === '??') break;
        for (const each of [left, right])
          if (each.type !== 'LogicalExpression' || each.operator !== operator)
            if (each === left || isCovered(node, parent))
              // The right side may be more than true.
              decide(each, 'condition', value, isStatic);
            else replace(each, 'condition', value, isStatic);
        break;
      }
      case 'BinaryExpression': {
        const operator = String(node.operator);
        const other = OPPOSITES[operator];
        const isEquality = operator.endsWith('==');
        if (!other || (isEquality && isCovered(node, parent))) break;
        // Brackets belong to no operand.
        const [from, to] = [(node.left as Node).end, (node.right as Node).start];
        const sign = text.slice(from, to).replace(operator, other);
        const after = text.slice(node.start, from) + sign + text.slice(to, node.end);
        const wrapped = { kind: 'comparison', before: sourceOf(node), after, isStatic } as const;
        if (isEquality) add(node.start, node.end, wrapped, (id) => [`($fault('${id}') !== (`, '))']);
        else {
          const compare = `(left, right) => left ${operator} right`;
          add(node.start, node.end, wrapped, (id) => [`$compare('${id}', ${compare}, `, ')']);
          // The operator becomes a comma.
          const at = text.indexOf(operator, from);
          edits.push({ at, text: ', /* ', isEnd: true, length: text.length });
          edits.push({ at: at + operator.length, text: ' */', isEnd: true, length: text.length });
        }
        break;
      }
      case 'ExpressionStatement': {
        const { expression } = node as Node & { expression: Node };
        const source = sourceOf(expression);
        const called = /^(Await|Unary)Expression$/.test(expression.type)
          ? (expression.argument as Node)
          : expression.type === 'ChainExpression'
            ? (expression.expression as Node)
            : expression;
        const isCall = called.type === 'CallExpression' && !TOLD.test(source);
        const isEmptied =
          called.type === 'AssignmentExpression' &&
          (called.left as Node).type === 'MemberExpression' &&
          EMPTY.test(sourceOf(called.right as Node));
        const isDeleted = expression.type === 'UnaryExpression' && expression.operator === 'delete';
        if (isCall || isEmptied || isDeleted) removeStatement(node, isStatic);
        break;
      }
      case 'CallExpression': {
        const callee = node.callee as Node;
        const given = node.arguments as Node[];
        const name = sourceOf((callee.property ?? callee) as Node);
        const isSpread = given.some(({ type }) => type === 'SpreadElement');
        if (!isSpread && /^(and|or)$/.test(name) && given.length > 1)
          for (const each of given) removeArgument(each, isStatic);
        if (!isSpread && name === 'whereEqual' && given.length > 2)
          for (const each of given.slice(1)) removeArgument(each, isStatic);
        if (callee.type !== 'MemberExpression' || sourceOf(callee).includes('?.')) break;
        const object = text
          .slice(node.start, (callee.property as Node).start)
          .trimEnd()
          .slice(0, -1);
        const list = text.slice(callee.end, node.end);
        const other = METHODS[name];
        if (/^(filter|sort|toSorted)$/.test(name)) replace(node, 'method', object, isStatic, `without ${name}`);
        else if (other && (/^(some|every)$/.test(name) || object === 'Math'))
          replace(node, 'method', `${object}.${other}${list}`, isStatic, other);
        break;
      }
      case 'VariableDeclarator':
        if (IS_CONSTANT.test(sourceOf(node.id as Node)) && !IS_TIME.test(sourceOf(node.id as Node)))
          addLimit(node.init as Node | null, isStatic);
        break;
      case 'Property':
        if (IS_LIMIT.test(sourceOf(node.key as Node))) addLimit(node.value as Node, isStatic);
        break;
      case 'TaggedTemplateExpression':
        if (SQL_TAG.test(sourceOf(node.tag as Node))) addSql(node.quasi as Node);
        break;
    }
    for (const [name, child] of Object.entries(node))
      for (const each of Array.isArray(child) ? child : [child])
        if (isNode(each) && name !== 'typeAnnotation')
          visit(each, node, isStatic && !FUNCTION.test(node.type) && node.type !== 'PropertyDefinition');
  };

  const addLimit = (value: Node | null, isStatic: boolean) => {
    if (value?.type === 'Literal' && typeof value.value === 'number')
      replace(value, 'limit', `${sourceOf(value)} + 1`, isStatic);
  };

  const addSql = (quasi: Node) => {
    const holes = (quasi.expressions as Node[]).map(
      ({ start, end }) => [text.lastIndexOf('${', start), text.indexOf('}', end) + 1] as const,
    );
    for (const { start, end, kind, sql, after } of findSqlFaults(text, quasi.start + 1, quasi.end - 1, holes)) {
      const wrapped = { kind, before: text.slice(start, end), after, isStatic: false, sql };
      add(start, end, wrapped, (id) => [`/*${id}[*/`, `/*${id}]*/`]);
    }
  };

  visit(parseAst(text, { lang: 'ts' }) as unknown as Node, undefined, true);
  return { file, faults, text: applyEdits(text, edits) };
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/** Parts lie in each other, or beside each other. Of two that are the same, the first is around the second. */
function applyEdits(text: string, edits: readonly Edit[]): string {
  const order = (a: Edit, b: Edit) =>
    a.at - b.at || Number(b.isEnd) - Number(a.isEnd) || (a.isEnd ? a.length - b.length : b.length - a.length);
  const ordered = [...edits.filter(({ isEnd }) => !isEnd), ...edits.filter(({ isEnd }) => isEnd).reverse()].sort(order);
  let result = '';
  let from = 0;
  for (const edit of ordered) {
    result += text.slice(from, edit.at) + edit.text;
    from = edit.at;
  }
  return result + text.slice(from);
}

/** Returns why nobody sees a fault of the kind, as a comment on its line or the one above says. */
function findAnswer(lines: readonly string[], line: number, kind: Kind): string | undefined {
  const pattern = new RegExp(`(?://|--) Equivalent: (?:\\w+, )*${kind}(?:, \\w+)*: (.+)`);
  return pattern.exec(lines[line - 1] ?? '')?.[1] ?? pattern.exec(lines[line - 2] ?? '')?.[1];
}
