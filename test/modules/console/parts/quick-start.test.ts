/** What the page of a new application shows of quick starts. */
import { expect, test } from 'vitest';
import quickStarts from '../../../../gen/quick-starts.json' with { type: 'json' };
import { QUICK_START_URI, renderQuickStart } from '../../../../src/modules/console/parts/quick-start.ts';

type Kind = Parameters<typeof renderQuickStart>[0]['kind'];

function render(kind: Kind, redirectUris: readonly string[] = [QUICK_START_URI]) {
  const given = {
    kind,
    path: '/applications/1',
    usherUrl: 'https://usher.test',
    clientId: 'client_1',
    apiKey: 'usk_1',
  };
  const { text } = renderQuickStart({ ...given, redirectUris });
  const details = [...text.matchAll(/<details class="group"( open)?><summary>(.*?)<\/summary>/g)];
  return {
    text,
    titles: details.map(([, , title]) => title),
    open: details.filter(([, open]) => open).map(([, , t]) => t),
  };
}

const titlesOf = (kind: string) => quickStarts.filter((each) => each.kind === kind).map(({ title }) => title);

test.each<[Kind, string[], string[]]>([
  ['server', titlesOf('server'), []],
  ['own-page', [...titlesOf('own-page'), ...titlesOf('server')], titlesOf('own-page')],
  ['single-page', [...titlesOf('single-page'), 'If a server needs the API key'], titlesOf('single-page')],
])('an application of the kind %s has its own, and one that is alone is open', (kind, titles, open) => {
  const rendered = render(kind);
  expect(rendered.titles).toEqual(titles);
  expect(rendered.open).toEqual(open);
  expect(rendered.text).not.toContain('<dt>Issuer</dt>');
});

test('a product has settings to copy, and the quick start of a client', () => {
  const { text, titles, open } = render('product');
  expect(text).toContain('<dt>Issuer</dt>');
  expect(titles.slice(-1)).toEqual(titlesOf('product'));
  expect(titles.length).toBeGreaterThan(2);
  expect(open).toEqual(titlesOf('product'));
});

test('says where each is a whole application, and which redirect URI is missing', () => {
  expect(render('server').text).toContain('Begin in a clone of Usher. Each is a whole application.</p>');
  expect(render('single-page').text).toContain('Begin in a clone of Usher.</p>');
  expect(render('server').text).not.toContain('What follows comes back to');
  expect(render('server', ['https://shop.test/']).text).toContain('What follows comes back to');
});
