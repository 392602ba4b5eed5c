/** Small parts of many pages: facts, notes, links, and how addresses and IDs are shown. */
import { expect, test } from 'vitest';
import { type Html, html } from '../../../../src/http/html.ts';
import type { ConsoleRequest } from '../../../../src/modules/console/console-request.ts';
import { problemsOf, renderPart } from '../../../../src/modules/console/parts/health-part.ts';
import { describeThing } from '../../../../src/modules/console/parts/named-things.ts';
import { renderNameOf } from '../../../../src/modules/console/parts/names.ts';
import {
  renderActionButton,
  renderBreadcrumbs,
  renderBrowser,
  renderDeclared,
  renderFacts,
  renderMethodLabel,
  renderNote,
  renderWallet,
} from '../../../../src/modules/console/parts/panel.ts';

const textOf = (rendered: Html | false) => (rendered ? rendered.text.replace(/<[^>]*>/g, '').trim() : rendered);

test('says of an application that a file declares it, or did', () => {
  expect([null, true, false].map((declared) => textOf(renderDeclared('group', declared)))).toEqual([
    false,
    'This group is declared in a file.',
    'no longer in the file',
  ]);
});

test('facts without a value are left out', () => {
  const rendered = renderFacts([
    ['Name', 'Ada'],
    ['Groups', undefined],
    ['Deactivated', false],
    ['Wallet', ''],
  ]);
  expect([...rendered.text.matchAll(/<dt>(\w+)/g)].map(([, name]) => name)).toEqual(['Name', 'Wallet']);
});

test('a button names its object to screen readers if its label does not', () => {
  expect(renderActionButton('/x', 'End').text).toContain('<button class="second">End</button>');
  expect(renderActionButton('/x', 'End', 'second', 'Ada').text).toContain('End<span class="hide"> Ada</span></button>');
});

test('a page says what the form has done that led to it', () => {
  const note = (done: string) => textOf(renderNote({ query: new URLSearchParams({ done }) } as ConsoleRequest));
  expect([note('saved'), note('other'), note('')]).toEqual(['Saved.', false, false]);
});

test('breadcrumbs have a slash between them', () => {
  expect(textOf(renderBreadcrumbs(['/users', 'Users'], ['/users/1', 'Ada']))).toBe('Users / Ada');
});

test.each([
  ['', '–'],
  ['0x1234567890ab', '0x1234567890ab'],
  ['0x1234567890abc', '0x1234…0abc'],
])('the wallet %j is shown as %s', (address, text) => expect(textOf(renderWallet(address))).toBe(text));

test.each([
  ['', '–'],
  ['curl/8', 'curl/8'],
])('the browser %j is shown as %s', (userAgent, text) => expect(textOf(renderBrowser(userAgent))).toBe(text));

test.each([
  ['email', 'Code by e-mail'],
  ['acme', 'Acme'],
  ['gone', 'gone'],
])('a sign-in by %s is shown as %s', (method, label) => {
  const providers = { nameOf: (id: string) => (id === 'acme' ? 'Acme' : '') } as ConsoleRequest['parts']['providers'];
  expect(textOf(renderMethodLabel({ providers }, method))).toBe(label);
});

test.each([
  ['a', 'Ada'],
  ['0123456789abcdef', '0123456789abcdef'],
  ['0123456789abcdef0', '01234567…def0'],
])('the ID %s is shown as %s', (id, text) => {
  expect(textOf(renderNameOf(new Map([['a', { name: 'Ada', detail: '' }]]), id))).toBe(text);
});

test.each([
  ['user', 'ada@example.com', 'ada@example.com'],
  ['application', 'https://shop.test:8443/a', 'shop.test:8443'],
  ['application', 'com.example.app:/back', 'com.example.app:/back'],
  ['application', '', ''],
  ['group', 'https://staff.test/', 'https://staff.test/'],
] as const)('of a thing of the kind %s with %j, %j is shown beside its name', (kind, detail, shown) => {
  expect(describeThing({ kind, detail, id: '', name: '' })).toBe(shown);
});

test('a part of Health is well if nothing is wrong with it', () => {
  const part = (problems: (string | false)[]) => ({ id: 'a', title: 'Mail', problems, facts: [] });
  const [well, sick] = [part([false, false]), part([false, 'No answer.', html`Late.`.text])];
  expect([well, sick, part([])].map((each) => textOf(renderPart(each)))).toEqual([
    expect.stringMatching(/^MailWell/),
    expect.stringMatching(/^MailNot well/),
    expect.stringMatching(/^MailWell/),
  ]);
  expect(problemsOf([well, sick])).toEqual(['No answer.', 'Late.']);
});
