/** The languages of the login page. */
import { describe, expect, it } from 'vitest';
import { renderChoice } from '../../src/login-page/pages/choice.ts';
import { renderClosed } from '../../src/login-page/pages/closed.ts';
import { renderCode } from '../../src/login-page/pages/code.ts';
import { type PageContent, renderDocument } from '../../src/login-page/pages/document.ts';
import { ERROR_PAGES, type ErrorPage, renderError } from '../../src/login-page/pages/error.ts';
import { renderLink } from '../../src/login-page/pages/link.ts';
import { renderName } from '../../src/login-page/pages/name.ts';
import type { FormView } from '../../src/login-page/pages/view.ts';
import { textOf } from '../support/login-browser.ts';
import { PSEUDO, withoutTexts } from '../support/pseudo-language.ts';

const view: FormView = {
  language: PSEUDO,
  place: { path: '/login', query: [] },
  chosenLanguage: '',
  applicationName: '',
  allowSignUp: false,
  methods: ['email', 'wallet'],
  email: '',
  alert: '',
  figures: { digits: 6, left: 0, wait: 30 },
  redirectUri: 'https://127.0.0.1/callback',
  clientId: 'client_1',
  loginIntentId: '',
  path: '/login',
  formToken: '',
  linksWallet: false,
};

const pages: readonly [name: string, page: PageContent][] = [
  ['choice', renderChoice(view)],
  ['code', renderCode(view)],
  ['code after a sign-up', renderCode({ ...view, allowSignUp: true, email: '1@gmial.com' })],
  ['choice with sign-up', renderChoice({ ...view, allowSignUp: true })],
  ['closed account', renderClosed(view)],
  ['link', renderLink(view)],
  ['name', renderName(view)],
  ...Object.keys(ERROR_PAGES)
    .map((kind) => [kind, renderError(kind as ErrorPage, view)] as const)
    .map(([kind, page]): [string, PageContent] => [`error ${kind}`, page]),
];

describe('every text comes from the catalogue', () => {
  it.each(pages)('on the page %s', (_name, page) => {
    const document = renderDocument(page, '').replace(/<(style|script|option)\b[^>]*>.*?<\/\1>/gs, '');
    const attributes = [
      ...document.matchAll(/\s(?:title|alt|placeholder|aria-label|data-(?!challenge)[\w-]+)="([^"]*)"/g),
    ];
    const shown = [document.replace(/<[^>]*>/g, '\n'), ...attributes.map(([, value = '']) => value)];
    expect(shown.map((text) => withoutTexts(textOf(text))).filter((text) => /\p{L}/u.test(text))).toEqual([]);
  });
});
