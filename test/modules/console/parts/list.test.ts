/** Tables, pages of a list, and filters. */
import { describe, expect, test } from 'vitest';
import { type Html, html } from '../../../../src/http/html.ts';
import {
  column,
  JOINED_PAGE_SIZE,
  pageFields,
  readFilter,
  readInstant,
  renderFilters,
  renderPager,
  renderRows,
  wideColumn,
  withFilters,
} from '../../../../src/modules/console/parts/list.ts';
import { INSTANT_EXAMPLE } from '../../../../src/modules/console/parts/moment.ts';

const queryOf = (query: string) => new URLSearchParams(query);

test('a table hides its wide columns on phones, and only these', () => {
  const columns = [column('ID', (row: string) => row), wideColumn('Name', () => 'Ada')];
  const { text } = renderRows({ labelledBy: 'title', columns, rows: ['1'], empty: '' });
  expect(text).toContain('<th scope="col">ID</th><th scope="col" class="wide">Name</th>');
  expect(text).toContain('<td>1</td><td class="wide">Ada</td>');
});

test('a table without rows is a text', () => {
  const { text } = renderRows({ labelledBy: 'title', columns: [], rows: [], empty: 'None.' });
  expect(text).toBe('<div class="panel empty"><p>None.</p></div>');
});

describe('a list in pages', () => {
  const linksOf = (pager: Html | false) =>
    pager &&
    Object.fromEntries(
      [...pager.text.matchAll(/rel="(\w+)" href="([^"]*)"/g)].map(([, rel, href]) => [
        rel,
        href?.replaceAll('&#38;', '&'),
      ]),
    );
  const steps = Array.from({ length: 25 }, (_, index) => `t${index}`);

  test('asks for 50 rows, or 35 of those that cost more, of the last page that its address names', () => {
    expect(pageFields(queryOf(''))).toEqual({ pageSize: 50, pageToken: '' });
    expect(JOINED_PAGE_SIZE).toBe(35);
    expect(pageFields(queryOf('page=a.b'), 9)).toEqual({ pageSize: 9, pageToken: 'b' });
  });

  test.each([
    ['the only page', '', '', false],
    ['the first page', 'q=ada', 'a', { next: '/users?q=ada&page=a' }],
    ['a later page', 'q=ada&page=a', 'b', { prev: '/users?q=ada', next: '/users?q=ada&page=a.b' }],
    ['the last page', 'page=a.b', '', { prev: '/users?page=a' }],
    ['the second page without filters', 'page=a', '', { prev: '/users' }],
    [
      'a page after so many that the address has the last twenty',
      `page=${steps.join('.')}`,
      'next',
      { prev: `/users?page=${steps.slice(4, 24).join('.')}`, next: `/users?page=${steps.slice(6).join('.')}.next` },
    ],
  ])('leads on and back from %s', (_, query, nextPageToken, links) => {
    expect(linksOf(renderPager('/users', queryOf(query), nextPageToken))).toEqual(links);
  });

  test('keeps the link to older rows on the right side', () => {
    const first = renderPager('/users', queryOf(''), 'a');
    expect((first || html``).text).toMatch(/<nav[^>]*><span><\/span><a/);
    const second = renderPager('/users', queryOf('page=a'), 'b');
    expect((second || html``).text).not.toContain('<span></span>');
  });
});

test.each([
  ['', '/audit.csv'],
  ['page=a&actor=', '/audit.csv'],
  ['actor=ada&page=a&since=', '/audit.csv?actor=ada'],
])('the address of a download keeps the filters of %j alone', (query, path) => {
  expect(withFilters('/audit.csv', queryOf(query))).toBe(path);
});

describe('filters', () => {
  const filters = [
    { name: 'q', label: 'Name', placeholder: 'Ada', offers: 'user' as const },
    { name: 'since', label: 'Since', isInstant: true as const },
    { name: 'wallet', label: 'Wallet' },
    { name: 'state', label: 'State', options: [['', 'All'] as const, ['open', 'Open'] as const] },
  ];
  const render = (query: string) => renderFilters(queryOf(query), filters).text;

  test('are closed until one is used, which a link leads out of', () => {
    expect(render('page=a')).toMatch(/^<details class="fold">/);
    expect(render('page=a')).not.toContain('>All</a>');
    expect(render('state=open')).toMatch(/^<details class="fold" open>/);
    expect(render('state=open')).toContain('<a class="button second" href="?">All</a>');
  });

  test('show what is used, what they offer, and an example', () => {
    const text = render('q=grace&state=open');
    expect(text).toContain('<input id="q" name="q" type="search" value="grace" placeholder="Ada" data-offers="user" ');
    expect(text).toContain(
      `<input id="since" name="since" type="search" value="" placeholder="${INSTANT_EXAMPLE}" auto`,
    );
    expect(text).toContain('<input id="wallet" name="wallet" type="search" value="" autocomplete="off"');
    expect(text).toContain('<option value="">All</option><option value="open" selected>Open</option>');
  });

  test('are read without spaces, and not at all if they are empty', () => {
    expect(readFilter(queryOf('q=+ada+'), 'q')).toBe('ada');
    expect(readFilter(queryOf('q=+'), 'q')).toBeUndefined();
    expect(readInstant(queryOf('since=1+Jan+2026'), 'since')).toBe('2026-01-01T00:00:00Z');
    expect(readInstant(queryOf('since=soon'), 'since')).toBe('soon');
    expect(readInstant(queryOf(''), 'since')).toBeUndefined();
  });
});

test('cells are text', () => {
  const columns = [column('ID', (row: string) => row)];
  expect(renderRows({ labelledBy: '', columns, rows: ['<b>'], empty: html`` }).text).not.toContain('<b>');
});
