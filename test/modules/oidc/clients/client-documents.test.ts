/** How often Usher fetches metadata of clients, and what it knows of them meanwhile. */
import { describe, expect, test } from 'vitest';
import { ClientDocuments } from '../../../../src/modules/oidc/clients/client-documents.ts';
import { parseClientHosts } from '../../../../src/modules/oidc/clients/client-url.ts';
import type { FetchDocument } from '../../../../src/modules/oidc/clients/fetch-document.ts';
import { CLIENT_HOSTS } from '../../../support/client-metadata.ts';
import { MINUTE, SECOND } from '../../../support/clock.ts';

const ASKING = { address: '192.0.2.1', mayFetch: () => true };

describe('fetches', () => {
  const hosts = parseClientHosts(`*.${CLIENT_HOSTS}`);
  const document = { name: 'Assistant', redirectUris: [] };
  const found = { document, keptMs: MINUTE };
  const idOf = (host: number, path: number | string) => `https://c${host}.${CLIENT_HOSTS}/${path}`;
  const TOO_MANY = { problem: 'too-many', cause: expect.any(String) };
  const UNAVAILABLE = { problem: 'unavailable', cause: 'no answer' };
  const unanswered = { problem: 'no answer', isGone: false };

  /** The answer of a document can be set by its client ID. The others are found. */
  function open(others: Awaited<ReturnType<FetchDocument>> = found) {
    let [now, count, networks] = [0, 0, 0];
    const answers = new Map<string, Awaited<ReturnType<FetchDocument>>>();
    const documents = new ClientDocuments({
      hosts,
      now: () => now,
      fetchDocument: async (clientId) => {
        count += 1;
        return answers.get(clientId) ?? others;
      },
    });
    return {
      answers,
      /** From a network that has asked for nothing yet, unless an address is named. */
      find: (
        id: string,
        { address = `2001:db8:0:${(networks++).toString(16)}::1`, mayFetch = (): boolean => true } = {},
      ) => documents.find(id, { address, mayFetch }),
      pass: (ms: number) => (now += ms),
      count: () => count,
    };
  }

  test('are 30 a minute of a host, and 120 in all', async () => {
    const { find, pass } = open();
    const outcomes = [];
    for (let path = 0; path < 31; path++) outcomes.push(await find(idOf(0, path)));
    expect(outcomes.map((outcome) => 'problem' in outcome)).toEqual([...Array(30).fill(false), true]);
    for (let path = 0; path < 90; path++) expect(await find(idOf(1 + (path % 9), path))).toEqual({ document });
    expect(await find(idOf(20, 0))).toEqual(TOO_MANY);
    pass(2 * SECOND);
    expect(await find(idOf(20, 0))).toEqual({ document });
  });

  test('are 15 a minute of a host for one network, which leaves the others some', async () => {
    const { find } = open(unanswered);
    const address = '192.0.2.1';
    for (let path = 0; path < 15; path++) expect(await find(idOf(0, path), { address })).toEqual(UNAVAILABLE);
    expect(await find(idOf(0, 15), { address })).toEqual(TOO_MANY);
    expect(await find(idOf(0, 15))).toEqual(UNAVAILABLE);
    expect(await find(idOf(1, 0), { address })).toEqual(UNAVAILABLE);
  });

  test('of documents that are known are as many again, whatever others ask for', async () => {
    const { answers, find, pass } = open(unanswered);
    const clients = Array.from({ length: 30 }, (_, path) => idOf(0, `client/${path}`));
    for (const id of clients) answers.set(id, found);
    for (const id of clients) expect(await find(id)).toEqual({ document });
    let refused = 0;
    for (let second = 0; second < 60; second++) {
      pass(SECOND);
      const outcome = await find(idOf(0, `made-up/${second}`));
      if ('problem' in outcome && outcome.problem === 'too-many') refused += 1;
    }
    expect(refused).toBeGreaterThan(20);
    // They come again, changed.
    const changed = { name: 'Changed', redirectUris: [] };
    for (const id of clients) answers.set(id, { document: changed, keptMs: MINUTE });
    for (const id of clients) expect(await find(id)).toEqual({ document: changed });
    pass(MINUTE);
    // Beyond that, the old ones serve.
    for (const id of clients) answers.set(id, found);
    const more = idOf(0, 'client/more');
    answers.set(more, found);
    pass(MINUTE);
    expect(await find(more)).toEqual({ document });
    pass(MINUTE);
    const names = [];
    for (const id of [...clients, more]) names.push(await find(id));
    expect(names).toEqual(Array(31).fill({ document }));
  });

  test.each<[string, { answer?: typeof unanswered; mayFetch?: () => boolean }]>([
    ['the server does not answer', { answer: unanswered }],
    ['the limits refuse the fetch', { mayFetch: () => false }],
  ])('that fail leave a known document for a day: %s', async (_, { answer, mayFetch = () => true }) => {
    const { answers, count, find, pass } = open();
    const id = idOf(0, 0);
    await find(id);
    if (answer) answers.set(id, answer);
    pass(MINUTE);
    expect(await find(id, { mayFetch })).toEqual({ document });
    const tried = count();
    // The server has a minute to recover.
    expect(await find(id, { mayFetch })).toEqual({ document });
    expect(count()).toBe(tried);
    pass(24 * 60 * MINUTE - 1);
    expect(await find(id, { mayFetch })).toEqual({ document });
    pass(1);
    expect(await find(id, { mayFetch })).toHaveProperty('problem');
    answers.delete(id);
    pass(MINUTE);
    expect(await find(id)).toEqual({ document });
  });

  test('that find a document gone, or not usable any more, end it', async () => {
    const { answers, find, pass } = open();
    const id = idOf(0, 0);
    await find(id);
    answers.set(id, { problem: 'its status is 410', isGone: true });
    pass(MINUTE);
    expect(await find(id)).toEqual({ problem: 'unavailable', cause: 'its status is 410' });
    answers.set(id, unanswered);
    pass(MINUTE);
    expect(await find(id)).toEqual(UNAVAILABLE);
  });

  test('that fail for made-up paths drive no known document out', async () => {
    const { answers, find, pass } = open(unanswered);
    const id = idOf(0, 'client');
    answers.set(id, { document, keptMs: 24 * 60 * MINUTE });
    await find(id);
    for (let path = 0; path < 1_100; path++) {
      pass(MINUTE / 30);
      expect(await find(idOf(1, path))).toEqual(UNAVAILABLE);
    }
    expect(await find(id, { mayFetch: () => false })).toEqual({ document });
  });

  test('are needed again for the oldest of more than 1,000 documents', async () => {
    const { find, pass } = open({ document, keptMs: 24 * 60 * MINUTE });
    const isKnown = async (path: number) => 'document' in (await find(idOf(0, path), { mayFetch: () => false }));
    for (let path = 0; path <= 1_000; path++) {
      pass(MINUTE / 30);
      await find(idOf(0, path));
    }
    expect([await isKnown(0), await isKnown(1)]).toEqual([false, true]);
  });

  test('of a document that must not be stored take no permits of those that are not known', async () => {
    const { answers, find } = open(unanswered);
    const id = idOf(0, 'client');
    answers.set(id, { document, keptMs: 0 });
    await find(id);
    for (let path = 0; path < 40; path++) await find(idOf(0, path));
    expect(await find(idOf(0, 40))).toEqual(TOO_MANY);
    expect(await find(id)).toEqual({ document });
    answers.set(id, unanswered);
    // What was not stored does not serve.
    expect(await find(id)).toEqual(UNAVAILABLE);
  });

  test('are ten at once, and one for a document that many ask for', async () => {
    const { promise, resolve } = Promise.withResolvers<typeof unanswered>();
    let count = 0;
    const documents = new ClientDocuments({
      hosts,
      fetchDocument: async () => {
        count += 1;
        return promise;
      },
    });
    const first = Array.from({ length: 10 }, (_, path) => documents.find(idOf(path, 0), ASKING));
    const again = documents.find(idOf(0, 0), ASKING);
    const eleventh = documents.find(idOf(11, 0), ASKING);
    resolve(unanswered);
    expect(await eleventh).toEqual(TOO_MANY);
    await Promise.all([...first, again]);
    expect(count).toBe(10);
  });

  test('are waited for by 50 requests at once, so that the login page has some left', async () => {
    const { promise, resolve } = Promise.withResolvers<typeof unanswered>();
    const documents = new ClientDocuments({ hosts, fetchDocument: async () => promise });
    const find = () => documents.find(idOf(0, 0), ASKING);
    const waiting = Array.from({ length: 50 }, find);
    const refused = find();
    resolve(unanswered);
    expect(await refused).toEqual(TOO_MANY);
    expect(await Promise.all(waiting)).toEqual(Array(50).fill(UNAVAILABLE));
    expect(await find()).toEqual(UNAVAILABLE);
  });

  test('come again after a minute if they have failed, and at once without a store', async () => {
    const failed = open(unanswered);
    expect(await failed.find(idOf(0, 0))).toEqual(UNAVAILABLE);
    expect(await failed.find(idOf(0, 0), { mayFetch: () => false })).toEqual(UNAVAILABLE);
    failed.pass(MINUTE);
    expect(await failed.find(idOf(0, 0), { mayFetch: () => false })).toEqual(TOO_MANY);
    const kept = open();
    for (let turn = 0; turn < 3; turn++) await kept.find(idOf(0, 0));
    expect(kept.count()).toBe(1);
    kept.pass(MINUTE);
    await kept.find(idOf(0, 0));
    expect(kept.count()).toBe(2);
    const passing = open({ document, keptMs: 0 });
    for (let turn = 0; turn < 3; turn++) await passing.find(idOf(0, 0));
    expect(passing.count()).toBe(3);
  });

  test('are asked for with a permit of the network', async () => {
    const documents = new ClientDocuments({ hosts, fetchDocument: async () => expect.fail() });
    expect(await documents.find(idOf(0, 0), { ...ASKING, mayFetch: () => false })).toEqual(TOO_MANY);
  });
});
