/** What `npm run test:lab -- faults src/domain` plants. */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { plantInStatement } from '../lab/faults/fault.ts';
import { SENDER } from '../lab/faults/fault-worker.ts';
import { findFaults } from '../lab/faults/find-faults.ts';

const show = (text: string) =>
  findFaults('src/domain/made-up.ts', text).faults.map(({ kind, before, after }) => `${kind}: ${before} → ${after}`);

describe('code', () => {
  test.each([
    ['if (isOpen) close();', ['guard: isOpen → false', 'call: close(); → ']],
    ['if (a && !b) throw x;', ['guard: a && !b → false', 'condition: a → true', 'condition: !b → true']],
    ['if (a || b) throw x;', ['guard: a || b → false', 'condition: a → false', 'condition: b → false']],
    ['const f = (n: number) => n < 3;', ['comparison: n < 3 → n <= 3']],
    ['const f = (n: string) => n === x;', ['comparison: n === x → n !== x']],
    ['if (n === x) throw x;', ['guard: n === x → false']],
    ['const f = () => (a ? b : c);', ['choice: a → true', 'choice: a → false']],
    ['const f = () => a ?? b ?? 0;', ['default: b → undefined']],
    ['const MAX_ROWS = 1_000;', ['limit: 1_000 → 1_000 + 1']],
    ['const TIMEOUT_MS = 1_000;', []],
    ['const rule = text({ min: 1, size: 2 });', ['limit: 1 → 1 + 1']],
    ['async function f() { await forget(x); log.info(x); const y = await find(x); }', ['call: await forget(x); → ']],
    [
      'cache.clear(); this.rows = new Map(); this.rows = rows;',
      ['call: cache.clear(); → ', 'call: this.rows = new Map(); → '],
    ],
    ['const x = rows.filter(isOpen);', ['method: rows.filter(isOpen) → without filter']],
    ['const x = Math.max(a, b);', ['method: Math.max(a, b) → min']],
    ['const x = and(a, b);', ['conjunct: a → ', 'conjunct: b → ']],
  ])('%s', (text, faults) => {
    expect(show(`${text}\n`)).toEqual(faults);
  });

  test('the code with all faults does what it did, or has one of them', () => {
    const text = `
      const LIMIT = 2;
      function decide(rows: number[], isOpen: boolean): string {
        if (rows.length > LIMIT && isOpen) return 'full';
        return rows.some((row) => row < 0) ? 'wrong' : 'right';
      }
      decide`;
    const { faults, text: faulty } = findFaults('src/domain/made-up.ts', text);
    const code = stripTypeScriptTypes(faulty);
    const answers = (id?: string) => {
      const decide = runInNewContext(code, {
        $fault: (each: string) => each === id,
        $decide: (each: string, other: boolean, value: unknown) => (each === id ? other : value),
        $compare: (each: string, compare: (...values: number[]) => boolean, left: number, right: number) =>
          compare(left, right) !== (left === right && each === id),
      });
      return [decide([1, 2, 3], true), decide([1, 2], true), decide([1, 2, 3], false), decide([0, -1], false)].join(
        ' ',
      );
    };
    expect(answers()).toBe('full right right wrong');
    expect(Object.fromEntries(faults.map(({ id, kind, before }) => [`${kind} ${before}`, answers(id)]))).toEqual({
      'limit 2': 'right right right wrong',
      'guard rows.length > LIMIT && isOpen': 'right right right wrong',
      'condition rows.length > LIMIT': 'full full right wrong',
      'comparison rows.length > LIMIT': 'full full right wrong',
      'condition isOpen': 'full right full wrong',
      'choice rows.some((row) => row < 0)': 'full right right right',
      'method rows.some((row) => row < 0)': 'full right right right',
      'comparison row < 0': 'full right right wrong',
    });
  });
});

describe('SQL', () => {
  test.each([
    ['select from users where a = 1', ['conjunct: a = 1 → true']],
    ['select from a where x between 1 and 2 and y', ['conjunct: x between 1 and 2 → true', 'conjunct: y → true']],
    [
      'select from a where x and (y or not z)',
      ['conjunct: x → true', 'conjunct: (y or not z) → true', 'disjunct: y → false', 'disjunct: not z → false'],
    ],
    [
      'a.x is null and not exists (select 1 from b where b.x > a.x)',
      [
        'conjunct: a.x is null → true',
        'conjunct: not exists (select 1 from b where b.x > a.x) → true',
        'conjunct: b.x > a.x → true',
        'comparison: > → >=',
      ],
    ],
    [
      'select from a join b on a.x = b.x and b.y left join c on c.x = a.x',
      ['conjunct: a.x = b.x → true', 'conjunct: b.y → true', 'conjunct: c.x = a.x → true'],
    ],
    [
      `update users u set name = \${x}, at = 1 where u.id = 2`,
      [`column: \${x} → u.name`, 'column: 1 → u.at', 'conjunct: u.id = 2 → true'],
    ],
    ['insert into a as b (x) values (1) on conflict (x) do update set x = excluded.x', ['column: excluded.x → b.x']],
    ['select coalesce(a, b), min(c)', ['argument: a → null', 'argument: b → null', 'argument: min → max']],
    ['select a from b order by a desc, c limit 1', ['order: desc → asc', 'order: c → desc', 'limit: 1 → one more']],
    ['select 1 -- where a and b', []],
  ])('%s', (text, faults) => {
    expect(show(`const s = sql\`${text}\`;\n`)).toEqual(faults);
  });

  test('a statement has no marks, and the fault that is planted', () => {
    const { faults, text } = findFaults('src/domain/made-up.ts', 'sql`select from a where b > 1 and c`');
    const statement = runInNewContext(text, { sql: ([part]: string[]) => part });
    expect(plantInStatement(statement)).toBe('select from a where b > 1 and c');
    expect(faults.map((fault) => plantInStatement(statement, fault))).toEqual([
      'select from a where (true or (b > 1)) and c',
      'select from a where b > 1 and (true or (c))',
      'select from a where b >= 1 and c',
    ]);
  });
});

test('the code that sends statements has the place where faults are planted', () => {
  expect(readFileSync(SENDER.file, 'utf8').split(SENDER.find)).toHaveLength(2);
});

test.each([
  ['a kind', 'guard', [false, false]],
  ['several kinds', 'choice, guard, condition', [true, true]],
])('a comment beside the code answers for %s of faults', (_, kinds, others) => {
  const text = `// Equivalent: ${kinds}: it would do nothing\nif (a && b) throw x;\n`;
  const { faults } = findFaults('src/domain/made-up.ts', text);
  const answers = [true, ...others].map((isAnswered) => (isAnswered ? 'it would do nothing' : undefined));
  expect(faults.map(({ kind, answer }) => [kind, answer])).toEqual([
    ['guard', answers[0]],
    ['condition', answers[1]],
    ['condition', answers[2]],
  ]);
});
