/** The pages of an application: its tabs, and the list with its filters and its form. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../../src/domain/core/errors.ts';
import { html } from '../../../../src/http/html.ts';
import {
  renderApplicationHeader,
  renderApplicationList,
} from '../../../../src/modules/console/parts/application-list.ts';
import { textOf } from '../../../support/login-browser.ts';

const application = { id: 'a-1', name: 'Shop', clientId: 'client_1', declaredByFile: null } as const;
const problem = { error: new ServiceError('GROUP_NOT_FOUND'), form: new URLSearchParams() };
const filters = [{ name: 'owner', label: 'Owner' }];
const form = { title: 'New webhook', shown: [], fields: html`<p>Fields</p>` } as const;

const show = (given: object, request: object = {}) => {
  const opened = { query: new URLSearchParams(), ...request } as never;
  const list = { tab: 'webhooks', heading: 'Webhooks', columns: [], empty: 'None.', ...given };
  const page = { page: { rows: [], nextPageToken: '' }, ...list } as never;
  return renderApplicationList(opened, application as never, page).body.text;
};

describe('a list', () => {
  test.each<[string, given: object, hasFilters: boolean]>([
    ['with filters', { filters }, true],
    ['without', {}, false],
    ['with none that the role may use', { filters: [] }, false],
  ])('%s shows them', (_, given, hasFilters) => {
    expect(show(given).includes('<form class="filters')).toBe(hasFilters);
    expect(show(given)).not.toMatch(/(?<!=")(undefined|false|true)/);
  });

  test.each<[string, form: object | false | undefined, request: object, expected: string | undefined]>([
    ['nobody', undefined, {}, undefined],
    ['an operator who may only look', false, {}, undefined],
    ['one who may create', form, {}, '<section'],
    ['one who may create by a long form', { ...form, isFolded: true }, {}, '<details class="panel">'],
    ['one whose long form was refused', { ...form, isFolded: true }, { problem }, '<details class="panel" open>'],
  ])('has a form for %s', (_, given, request, expected) => {
    const [, before = '', content = ''] =
      /(<section|<details)((?:(?!<section|<details).)*New webhook.*)/s.exec(show({ form: given }, request)) ?? [];
    expect(content.includes('action="/applications/a-1/webhooks"')).toBe(expected !== undefined);
    expect((before + content).startsWith(expected ?? '')).toBe(true);
  });

  test('says on an empty page that there may be older rows', () => {
    expect(textOf(show({}))).toContain('None.');
    expect(textOf(show({ page: { rows: [], nextPageToken: 'more' } }))).toContain('There may be older ones.');
  });
});

test.each(['settings', 'keys'] as const)('the tab %s is marked, and each leads to its page', (current) => {
  const { text } = renderApplicationHeader(application, current);
  const tabs = [...text.matchAll(/<a href="(\/applications\/a-1[^"]*)"( aria-current="page")?>([^<]*)/g)];
  expect(tabs.slice(0, 2).map(([, path, , label]) => [path, label])).toEqual([
    ['/applications/a-1', 'Settings'],
    ['/applications/a-1/keys', 'Keys'],
  ]);
  expect(tabs.filter(([, , mark]) => mark).map(([, , , label]) => label?.toLowerCase())).toEqual([current]);
});
