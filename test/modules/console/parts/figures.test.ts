/** Bar charts, and the figures at the doors of an event. */
import { describe, expect, test } from 'vitest';
import { type Html, html } from '../../../../src/http/html.ts';
import { mostOf, renderFigure } from '../../../../src/modules/console/parts/bars.ts';
import { renderDoorFigures } from '../../../../src/modules/console/parts/door-figures.ts';

const textOf = ({ text }: Html) =>
  text
    .replace(/<(style|title)>.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

test('a bar chart has its sum, and marks the newest bar', () => {
  const bars = [4, 0, 1_200].map((count, at) => ({ label: `${at}:00`, count }));
  const { text } = renderFigure({
    id: 'a',
    title: 'Sign-ins',
    heading: html`Logins`,
    by: 'an hour',
    bars,
    end: 'now',
    isTrouble: false,
    most: mostOf(bars),
  });
  expect(text).toMatch(/<h3 id="a">Logins<\/h3>\s*<strong>1,204<\/strong>/);
  expect(text).toContain('viewBox="0 0 27 46"');
  const drawn = [
    ...text.matchAll(/<rect x="(\d+)" y="([\d.]+)" width="7" height="([\d.]+)" rx="1.5"( class="now")?>/g),
  ];
  expect(drawn.map((bar) => bar.slice(1))).toEqual([
    ['0', '43.9', '0.1', undefined],
    ['10', '44.0', '0.0', undefined],
    ['20', '4.0', '40.0', ' class="now"'],
  ]);
});

test('a chart without counts has a scale, too', () => {
  expect(mostOf([])).toBe(1);
  expect(mostOf([{ label: '', count: 0 }])).toBe(1);
  expect(
    mostOf([
      { label: '', count: 7 },
      { label: '', count: 3 },
    ]),
  ).toBe(7);
});

describe('the figures at the doors', () => {
  type Drawn = [at: number, gate: string, count: number];
  const figures = (drawn: Drawn[], options = {}) => ({
    checkedIn: 4_999,
    isExact: true,
    listed: 4_999,
    barSeconds: 60,
    drawn: drawn.map(([at, gate, count]) => ({ at, gate, count })),
    ...options,
  });
  const render = (drawn: Drawn[], options = {}) => renderDoorFigures('/x', figures(drawn, options), null);
  /** The title and the sum of each chart. */
  const chartsOf = ({ text }: Html) =>
    [...text.matchAll(/<h3[^>]*>(.*?)<\/h3>\s*<strong>(.*?)</g)].map(
      ([, title = '', sum]) => `${title.replace(/<[^>]*>/g, '')} ${sum}`,
    );

  test('say of a count that it is one, or the least', () => {
    expect(textOf(render([]))).toBe('At the doors Have come 4,999 On the list 4,999');
    expect(textOf(render([], { isExact: false, listed: 5_000 }))).toBe(
      'At the doors Have come 4,999 or more On the list 5,000 or more',
    );
  });

  test('have one chart if all came through one gate', () => {
    expect(chartsOf(render([[0, '', 2]]))).toEqual(['All gates 2']);
  });

  test('have a chart for each of six gates, the largest first, and those of one size by name', () => {
    const six = ['F', 'E', 'D', '', 'B', 'A'].map((gate, index): Drawn => [60, gate, index === 5 ? 9 : 1]);
    expect(chartsOf(render(six))).toEqual(['All gates 14', 'A 9', 'No gate 1', 'B 1', 'D 1', 'E 1', 'F 1']);
    expect(chartsOf(render([...six, [60, 'G', 1], [120, 'B', 1]]))).toEqual([
      'All gates 16',
      'A 9',
      'B 2',
      'No gate 1',
      'D 1',
      'E 1',
      'Other gates 2',
    ]);
  });

  test('have a table of the times at which people came, by gate', () => {
    const { text } = render([
      [0, 'A', 1],
      [0, '', 2],
      [120, 'A', 3],
    ]);
    const rows = [...text.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row = '']) =>
      [...row.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/g)].map(([, cell]) => cell),
    );
    expect(rows).toEqual([
      ['From (UTC)', 'All gates', 'A', 'No gate'],
      ['01-01 00:00', '3', '1', '2'],
      ['01-01 00:02', '3', '3', '0'],
    ]);
  });

  test.each([
    [60, 'a minute', '01-01 00:00'],
    [300, '5 minutes', '01-01 00:00'],
    [3_600, 'an hour', '01-01 00:00'],
    [10_800, '3 hours', '01-01 00:00'],
    [86_400, 'a day', '1970-01-01'],
    [604_800, '7 days', '1970-01-01'],
    [null, 'a day', '1970-01-01'],
  ])('of %s seconds per bar are drawn by %s', (barSeconds, by, label) => {
    const rendered = render([[0, '', 1]], { barSeconds });
    expect(textOf(rendered)).toContain(`by the time (UTC) at which people came, ${by} per bar`);
    expect(rendered.text).toContain(`<td>${label}</td>`);
  });

  test('say which check-ins are drawn', () => {
    expect(textOf(render([[0, '', 1_999]]))).toContain('All check-ins,');
    expect(textOf(render([[0, '', 2_000]]))).toContain('The last 2,000 check-ins,');
  });
});
