import { describe, expect, test } from 'vitest';
import { changes } from '../../../src/domain/core/changes.ts';
import { ServiceError } from '../../../src/domain/core/errors.ts';
import { checkedRules, type Rule, rule } from '../../../src/domain/core/rule.ts';
import {
  boolean,
  check,
  emailAddress,
  identifier,
  integer,
  listOf,
  objectOf,
  optional,
  orDefault,
  text,
  textOfBytes,
  textOrEmpty,
  textThat,
  timestamp,
  uuid,
  webUrl,
} from '../../../src/domain/core/validation.ts';

const UUID = '0b9f6f2e-4d5c-4a7b-8c1d-9e0f1a2b3c4d';
const NOT_WELL_FORMED = 'must be well-formed Unicode without NUL';
const TOO_LONG = 'must have 1 to 500 characters';

interface RuleCase {
  readonly name: string;
  readonly rule: Rule<unknown>;
  readonly accepts: readonly string[];
  /** The refused values, by the message that they get. */
  readonly refuses: Readonly<Record<string, readonly string[]>>;
}

const RULES: readonly RuleCase[] = [
  {
    name: 'a text of 1 to 500 characters',
    rule: text({ max: 500 }),
    accepts: ['a', ' ', '\n', '\u0001', '\u{10ffff}', 'a'.repeat(500), '😀'.repeat(500), `${'😀'.repeat(499)}a`],
    refuses: {
      [TOO_LONG]: ['a'.repeat(501), '😀'.repeat(501), 'a'.repeat(100_000)],
      [NOT_WELL_FORMED]: ['\0', 'a\0', '\ud83d', '\ude00\ud83d', `${'a'.repeat(600)}\ud83d`],
    },
  },
  {
    name: 'a text of 3 to 4 characters',
    rule: text({ min: 3, max: 4 }),
    accepts: ['abc', 'abcd', '😀😀😀', '😀😀😀😀'],
    refuses: { 'must have 3 to 4 characters': ['ab', '😀😀', '😀a', 'abcde', '😀😀😀😀😀'] },
  },
  {
    name: 'an identifier of 1 to 255 characters',
    rule: identifier,
    accepts: ['a', 'a'.repeat(255), '😀'.repeat(255), '../x', ' a ', 'é', '\u00a0', '\u2028'],
    refuses: {
      'must have 1 to 255 characters': ['a'.repeat(256), '😀'.repeat(256)],
      'must not have control characters': ['a\u0001', '\t', 'a\n', '\r', 'a\u001f', '\u007f', '\u0080', 'a\u009fb'],
      [NOT_WELL_FORMED]: ['\0', '\udc00'],
    },
  },
  {
    name: 'a text of 1 to 8192 bytes',
    rule: textOfBytes(8192),
    accepts: ['a', 'a'.repeat(8192), 'é'.repeat(4096), '😀'.repeat(2048)],
    refuses: {
      'must have 1 to 8192 bytes': ['a'.repeat(8193), `${'é'.repeat(4096)}a`, `${'😀'.repeat(2048)}a`],
    },
  },
  {
    name: 'a UUID',
    rule: uuid,
    accepts: [UUID, '00000000-0000-0000-0000-000000000000'],
    refuses: {
      'must be a UUID': [
        ...['x', UUID.slice(1), `${UUID}0`, `{${UUID}}`, `urn:uuid:${UUID}`, `${UUID}\n`, ` ${UUID}`, `${UUID}\0`],
        ...[UUID.replaceAll('-', ''), UUID.replace('0', 'g'), UUID.replaceAll('-', '–')],
      ],
    },
  },
  {
    name: 'a web URL',
    rule: webUrl,
    accepts: [
      ...['https://example.com', 'http://example.com/hooks?a=1#b', 'https://user:password@example.com/'],
      ...['HTTPS://EXAMPLE.COM/', 'https://[::1]:8443/', 'https://example.com/'.padEnd(2048, 'a')],
    ],
    refuses: {
      'must have 1 to 2048 characters': ['https://example.com/'.padEnd(2049, 'a')],
      [NOT_WELL_FORMED]: ['https://example.com/\0'],
      'must be an absolute http or https URL': [
        ...['example.com', '//example.com', '/hooks', 'ftp://example.com/', 'javascript:alert(1)', 'https:example.com'],
        ...['https://', 'https://exa mple.com/', ' https://example.com/', 'https://example.com/\n', 'https://[::1'],
        ...['https://bücher.example/', 'https://example.com:99999/'],
      ],
    },
  },
  {
    name: 'an e-mail address',
    rule: emailAddress,
    accepts: ['a@b', 'ada@example.com', 'ada+tag@example.com', 'ädä@xn--bcher-kva.example', `${'a'.repeat(252)}@b`],
    refuses: {
      'must have 3 to 254 characters': ['a@', `${'a'.repeat(253)}@b`],
      [NOT_WELL_FORMED]: ['a@b\0'],
      'must be an e-mail address': [
        ...['ada', '@example.com', 'ada@', 'a@b@c', 'a da@example.com', 'ada@example.com\n', 'ada@exam\u0001ple.com'],
        ...['<ada@example.com>', 'ada,grace@example.com', 'ada@example.com;x', '"ada"@example.com', 'ada@[127.0.0.1]'],
        ...['ada@example.com\r\nBcc:evil', 'ada@example.com>,<evil', 'group:ada@example.com;', 'evil;ada@example.com'],
        ...['"evil,ada@example.com', 'ada(evil)@example.com', 'ada@example.com>BODY=8BITMIME'],
      ],
    },
  },
  {
    name: 'a text that a function accepts',
    rule: textThat((value) => value.startsWith('x'), 'must start with x', { max: 3, format: 'x' }),
    accepts: ['x', 'xyz'],
    refuses: { 'must start with x': ['y'], 'must have 1 to 3 characters': ['xxxx'] },
  },
];

describe.each(RULES)('$name', ({ rule, accepts, refuses }) => {
  test('accepts what is in order', () => {
    for (const value of accepts) expect(check({ field: value }, { field: rule })).toEqual({ field: value });
  });

  test('refuses what is not, with the reason', () => {
    for (const [message, values] of Object.entries(refuses)) {
      for (const value of values) expectViolations({ field: value }, { field: rule }, [{ field: 'field', message }]);
    }
  });

  test('is required', () => {
    for (const value of [undefined, '']) {
      expectViolations({ field: value }, { field: rule }, [{ field: 'field', message: 'is required' }]);
    }
  });

  test('is a string', () => {
    for (const value of [null, 0, 1.5, true, false, [], ['a'], {}, { length: 3 }]) {
      expectViolations({ field: value }, { field: rule }, [{ field: 'field', message: 'must be a string' }]);
    }
  });
});

test('a UUID is put in lower case', () => {
  expect(check({ id: UUID.toUpperCase() }, { id: uuid })).toEqual({ id: UUID });
});

test('an optional field may be missing, and passes the rule when it is there', () => {
  const rules = { name: optional(identifier) };
  for (const missing of [{}, { name: null }]) expect(check(missing, rules)).toEqual({ name: null });
  expect(check({ name: 'Ada' }, rules)).toEqual({ name: 'Ada' });
  expectViolations({ name: '' }, rules, [{ field: 'name', message: 'is required' }]);
});

test('a field with a default may be missing, and passes the rule when it is there', () => {
  const rules = { ordered: orDefault(boolean, true) };
  for (const missing of [{}, { ordered: null }]) expect(check(missing, rules)).toEqual({ ordered: true });
  expect(check({ ordered: false }, rules)).toEqual({ ordered: false });
  expectViolations({ ordered: 'no' }, rules, [{ field: 'ordered', message: 'must be true or false' }]);
});

test('a change may be missing, and passes the rule when it is there, even if it is null', () => {
  const rules = changes({ name: optional(identifier), url: webUrl });
  expect(check({}, rules)).toEqual({ name: undefined, url: undefined });
  expect(check({ name: null }, rules)).toEqual({ name: null, url: undefined });
  expectViolations({ name: '', url: null }, rules, [
    { field: 'name', message: 'is required' },
    { field: 'url', message: 'must be a string' },
  ]);
});

test('an integer is of the range', () => {
  const rules = { size: integer({ min: 1, max: 3 }) };
  for (const size of [1, 3]) expect(check({ size }, rules)).toEqual({ size });
  for (const size of [0, 4, 1e300]) expectViolations({ size }, rules, [{ field: 'size', message: 'must be 1 to 3' }]);
  for (const size of [1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, true, [1]]) {
    expectViolations({ size }, rules, [{ field: 'size', message: 'must be an integer' }]);
  }
  expectViolations({}, rules, [{ field: 'size', message: 'is required' }]);
});

test('a boolean is true or false', () => {
  const rules = { flag: boolean };
  for (const flag of [true, false]) expect(check({ flag }, rules)).toEqual({ flag });
  for (const flag of ['true', 0, null, []]) {
    expectViolations({ flag }, rules, [{ field: 'flag', message: 'must be true or false' }]);
  }
  expectViolations({}, rules, [{ field: 'flag', message: 'is required' }]);
});

test('a list holds items that pass the rule', () => {
  const rules = { uris: listOf(webUrl, { min: 1, max: 2 }) };
  const uris = ['https://a.test', 'https://b.test'];
  expect(check({ uris }, rules)).toEqual({ uris });
  for (const value of [undefined, null, 'https://a.test', {}, [], Array(3).fill('https://a.test')]) {
    expectViolations({ uris: value }, rules, [{ field: 'uris', message: 'must be a list of 1 to 2' }]);
  }
  const notAUrl = { field: 'uris', message: 'must be an absolute http or https URL' };
  expectViolations({ uris: ['https://a.test', 'b'] }, rules, [notAUrl]);
  expectViolations({ uris: ['https://a.test', 1] }, rules, [{ field: 'uris', message: 'must be a string' }]);
});

test('a list rethrows any other error', () => {
  const broken = rule({ type: 'string' }, () => {
    throw new RangeError('a bug');
  });
  expect(() => check({ items: ['a'] }, { items: listOf(broken, { min: 0, max: 1 }) })).toThrow('a bug');
});

test('text may be empty where the rule allows it, and passes it otherwise', () => {
  const rules = { name: textOrEmpty(identifier) };
  for (const [name, value] of [
    [undefined, ''],
    ['', ''],
    ['Ada', 'Ada'],
  ])
    expect(check({ name }, rules)).toEqual({ name: value });
  expectViolations({ name: 'a\n' }, rules, [{ field: 'name', message: 'must not have control characters' }]);
});

describe('an instant', () => {
  const [MS, SECONDS] = [Date.UTC(2030, 0, 1), BigInt(Date.UTC(2030, 0, 1) / 1_000)];
  test.each<[unknown, number]>([
    ['2030-01-01T00:00:00Z', 0],
    [{ seconds: SECONDS, nanos: 1_999_999 }, 1],
    [{ seconds: SECONDS, nanos: 999_999_999 }, 999],
  ])('may be %o', (at, ms) => {
    expect(check({ at }, { at: timestamp })).toEqual({ at: new Date(MS + ms) });
  });

  const NO_INSTANT = 'must be an instant in ISO 8601 with a time zone';
  test.each<[unknown, string]>([
    [undefined, 'is required'],
    [null, 'must be a string'],
    [{ seconds: SECONDS }, 'must be a string'],
    [{ seconds: 1, nanos: 1 }, 'must be a string'],
    [{ seconds: SECONDS, nanos: -1 }, NO_INSTANT],
    [{ seconds: SECONDS, nanos: 1_000_000_000 }, NO_INSTANT],
    [`2030-01-01T00:00:00.${'1'.repeat(44)}Z`, 'must have 1 to 64 characters'],
    [{ seconds: 253_402_300_800n, nanos: 0 }, 'must be in the years 1 to 9999'],
  ])('may not be %o', (at, message) => {
    expectViolations({ at }, { at: timestamp }, [{ field: 'at', message }]);
  });
});

test('a schema says what is required, and the format if there is one', () => {
  const fields = { a: text({ max: 1 }), b: optional(text({ max: 1, format: 'line' })) };
  const [plain, formatted] = [fields.a.schema, fields.b.schema];
  expect([Object.keys(plain).includes('format'), formatted.format]).toEqual([false, 'line']);
  expect(objectOf(fields).schema.required).toEqual(['a']);
  expect(Object.keys(objectOf({ b: fields.b }).schema)).not.toContain('required');
});

describe('a request', () => {
  test('names every violation in the order of its rules', () => {
    const rules = { id: uuid, name: identifier, state: text({ max: 500 }), email: emailAddress };
    expectViolations({ email: 'x', state: '', id: 7, name: 'fine' }, rules, [
      { field: 'id', message: 'must be a string' },
      { field: 'state', message: 'is required' },
      { field: 'email', message: 'must have 3 to 254 characters' },
    ]);
  });

  test('may have unknown fields, which are left out', () => {
    expect(check({ id: UUID, other: 1 } as { id: unknown }, { id: uuid })).toEqual({ id: UUID });
  });

  test('has the error of a rule, unless there are violations', () => {
    const own = rule({ type: 'string' }, () => {
      throw new ServiceError('INVALID_LOGO');
    });
    expect(() => check({ id: UUID }, { own, id: uuid })).toThrow(expect.objectContaining({ reason: 'INVALID_LOGO' }));
    expectViolations({}, { own, id: uuid }, [{ field: 'id', message: 'is required' }]);
  });

  test('tells the generator of the API reference of its rules', () => {
    const told: unknown[] = [];
    const listen = (rules: unknown) => void told.push(rules);
    const rules = { id: uuid };
    checkedRules.subscribe(listen);
    check({ id: UUID }, rules);
    checkedRules.unsubscribe(listen);
    check({ id: UUID }, rules);
    expect(told).toEqual([rules]);
  });

  test('rethrows any other error', () => {
    const broken = rule({ type: 'string' }, () => {
      throw new RangeError('a bug');
    });
    expect(() => check({}, { id: broken })).toThrow(new RangeError('a bug'));
  });
});

function expectViolations(
  fields: Record<string, unknown>,
  rules: Record<string, Rule<unknown>>,
  violations: readonly { field: string; message: string }[],
): void {
  const refused = expect.objectContaining({ code: 'invalid_argument', message: 'Validation failed', violations });
  expect(() => check(fields, rules)).toThrow(ServiceError);
  expect(() => check(fields, rules)).toThrow(refused);
}
