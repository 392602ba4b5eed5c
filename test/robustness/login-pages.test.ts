/** Every page in every language, in a real browser. */
import { createServer } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toPageHeaders } from '../../src/http/exchange.ts';
import { renderDocument } from '../../src/login-page/pages/document.ts';
import { policyOf } from '../../src/login-page/pages/responses.ts';
import { listenOnLoopback, stopServer } from '../../src/testing/loopback-server.ts';
import { LANGUAGES, type Language } from '../../src/texts/texts.ts';
import { SCREENS, type Screen } from '../preview/screens.ts';
import {
  collectProblems,
  expectAccessible,
  expectContrast,
  launchChromium,
  SKIPS_CHROMIUM,
} from '../support/chromium.ts';
import { quickOrLong } from '../support/soak.ts';

const NONCE = 'nonce';
/** A watch, which is also a phone at 200 %, and a phone. */
const [NARROW, WIDE] = [180, 320];

/** For what hangs: a busy machine may take minutes for all the pages of a language. */
const TIMEOUT_MS = 300_000;

/** In the short form, axe looks at this language only: colours and structure are the same in the others. */
const isLookedAt = (tag: string) => quickOrLong(tag === 'en', true);
/** What fits a watch also fits a phone, unless it is laid out anew. */
const widthsOf = (tag: string) => (isLookedAt(tag) ? [NARROW, WIDE] : [NARROW]);

/** Pages that differ in nothing but their words, such as most errors, are one kind: axe looks at the first of each. */
function listKinds(language: Language): readonly Screen[] {
  const kinds = new Map<string, Screen>();
  for (const screen of SCREENS.toReversed()) {
    const words = />[^<]+<| (href|value|content|action|aria-label|title|alt)="[^"]*"/g;
    kinds.set(renderDocument(screen.render(language), NONCE).replaceAll(words, '> <'), screen);
  }
  return [...kinds.values()];
}

/** Looking at every page takes minutes on a busy machine. */
const LONG = { timeout: 900_000 };

/** Returns all pages of a language side by side: to navigate to each costs twice as much. */
function renderAll(tag: string): string {
  const frameAt = (width: number) =>
    SCREENS.map(({ name }) => `<iframe src="${name}" style="width: ${width}px; height: 640px; border: 0"></iframe>`);
  return `<!doctype html>${widthsOf(tag).flatMap(frameAt).join('')}`;
}

/** What a page says of itself, and by how many pixels it is too wide. */
interface Shown {
  readonly page: string;
  readonly lang: string;
  readonly dir: string;
  readonly excess: number;
}

const READ_ALL = `[...document.querySelectorAll('iframe')].map(({ src, style, contentDocument }) => {
  const { lang, dir, scrollWidth, clientWidth } = contentDocument.documentElement;
  return { page: src.split('/').at(-1) + ' at ' + style.width, lang, dir, excess: scrollWidth - clientWidth };
})`;

const server = createServer(({ url = '' }, response) => {
  const [, tag = '', name = ''] = url.split('/');
  const language = LANGUAGES.get(tag);
  const screen = SCREENS.find((candidate) => candidate.name === name);
  response.setHeader('content-type', 'text/html; charset=utf-8');
  if (language && screen) {
    // The page with all of them frames each.
    const policy = toPageHeaders(policyOf(NONCE), 'self')['content-security-policy'];
    response.setHeader('content-security-policy', policy).end(renderDocument(screen.render(language), NONCE));
  } else if (name === 'all') response.end(renderAll(tag));
  else response.writeHead(404).end();
});

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let chrome: Browser;
  let page: Page;
  let origin: string;
  const requested = new Set<string>();
  let problems: readonly string[];

  beforeAll(async () => {
    origin = await listenOnLoopback(server);
    chrome = await launchChromium();
    const context = await chrome.newContext();
    context.setDefaultTimeout(TIMEOUT_MS);
    problems = collectProblems(context);
    context.on('request', (request) => void requested.add(new URL(request.url()).origin));
    page = await context.newPage();
  });
  afterAll(async () => {
    await chrome?.close();
    await stopServer(server);
  });

  describe.each([...LANGUAGES.values()])('in $tag', (language) => {
    const { tag, direction } = language;
    it('every page fits, and loads nothing from elsewhere', LONG, async () => {
      await page.goto(`${origin}/${tag}/all`);
      const shown = await page.evaluate<Shown[]>(READ_ALL);
      expect(shown).toHaveLength(widthsOf(tag).length * SCREENS.length);
      const isRight = ({ lang, dir, excess }: Shown) => lang === tag && dir === direction && excess <= 0;
      expect(shown.filter((each) => !isRight(each))).toEqual([]);
      expect([...requested]).toEqual([origin]);
      expect(problems).toEqual([]);
    });

    it.runIf(isLookedAt(tag))('every page is accessible in light and dark', LONG, async () => {
      for (const { name } of listKinds(language)) {
        await page.emulateMedia({ colorScheme: 'light' });
        await page.goto(`${origin}/${tag}/${name}`);
        await expectAccessible(page);
        await page.emulateMedia({ colorScheme: 'dark' });
        await expectContrast(page);
      }
      expect(problems).toEqual([]);
    });
  });

  it('every page has at most 21 kB', () => {
    for (const language of LANGUAGES.values()) {
      for (const { name, render } of SCREENS) {
        expect(Buffer.byteLength(renderDocument(render(language), NONCE)), `${language.tag} ${name}`).toBeLessThan(
          21_000,
        );
      }
    }
  });
});
