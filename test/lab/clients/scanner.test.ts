/** The scanner of `test/examples/scanner` in Chromium: its queue, its copy of the list, and networks that fail. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Browser, BrowserContext, BrowserContextOptions, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AttendeeToPutSchema } from '../../../gen/usher/v1/event_pb.ts';
import {
  collectProblems,
  expectAccessible,
  expectContrast,
  launchChromium,
  SKIPS_CHROMIUM,
} from '../../support/chromium.ts';
import { startExample } from '../../support/example-application.ts';
import { REPOSITORY } from '../../support/process.ts';
import { clientsOf, createTenant, startTestService, type Tenant, type TestService } from '../../support/service.ts';

const APP = join(REPOSITORY, 'test/examples/scanner/app.ts');
const FAKE_CAMERA = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];
const YEAR_MS = 365 * 24 * 60 * 60_000;

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let service: TestService;
  let tenant: Tenant;
  let chrome: Browser;

  beforeAll(async () => {
    service = await startTestService();
    tenant = await createTenant(service);
    chrome = await launchChromium(FAKE_CAMERA);
  });
  afterAll(async () => {
    await chrome?.close();
    await service?.close();
  });

  type Attendees = MessageInitShape<typeof AttendeeToPutSchema>[];

  /** Creates an event with a list, and starts the scanner's server for it. */
  async function openEvent(
    rules: { readonly admission?: string; readonly capacity?: number } = { admission: 'LISTED' },
    attendees: Attendees = [],
  ) {
    const eventId = randomUUID();
    const { events } = clientsOf(service, tenant);
    await events.createEvent({ eventId, name: 'Summer fest', ...rules });
    if (attendees.length > 0) await events.batchPutAttendees({ eventId, attendees });
    const app = await startExample(APP, { USHER_URL: service.url, API_KEY: tenant.apiKey, EVENT_ID: eventId });
    onTestFinished(() => app.close());
    const readCheckIns = async () => {
      const { checkIns } = await events.listCheckIns({ eventId });
      return checkIns.map(({ attendeeId, gate }) => `${attendeeId} ${gate ?? '-'}`).sort();
    };
    return { eventId, events, app, readCheckIns };
  }

  /** Opens the link on a new device, and waits until it has the list. */
  async function openDevice(
    link: string,
    { gate = '', options }: { gate?: string; options?: BrowserContextOptions } = {},
  ) {
    const context = await chrome.newContext(options);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(link);
    await expectState(page, { online: 'Online', copy: '', waiting: '0 to upload' });
    if (gate) {
      await page.locator('summary').click();
      await page.getByLabel('Gate').fill(gate);
      await page.getByLabel('Gate').press('Tab');
    }
    return { context, page };
  }

  async function expectState(page: Page, state: Readonly<Record<string, string>>): Promise<void> {
    for (const [id, text] of Object.entries(state)) {
      await expect.poll(() => page.locator(`#${id}`).textContent()).toBe(text);
    }
  }

  /** Types a code as a reader does, and waits for the decision. */
  async function scan(page: Page, attendeeId: string, title: string): Promise<void> {
    await page.getByLabel('Attendee ID').fill(attendeeId);
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.locator('#verdict').evaluate((panel) => (panel as unknown as { innerText: string }).innerText))
      .toMatch(new RegExp(`^${title}[^]*`));
  }

  /** Cuts the network, and waits until the page knows. */
  async function cut(context: BrowserContext, page: Page): Promise<void> {
    await context.setOffline(true);
    await expectState(page, { online: 'Offline: the list on this device decides' });
  }

  async function restore(context: BrowserContext, page: Page): Promise<void> {
    await context.setOffline(false);
    await expectState(page, { online: 'Online', waiting: '0 to upload' });
  }

  const lastScans = (page: Page) => page.locator('#scans li').allTextContents();

  test('a scan with a network is decided by Usher, by the rules of the event', async () => {
    const { app, events, eventId, readCheckIns } = await openEvent({ admission: 'LISTED', capacity: 1 }, [
      { attendeeId: 'ada', label: 'Ada Lovelace' },
      { attendeeId: 'eve', label: 'Eve', isBlocked: true },
      { attendeeId: 'grace', label: 'Grace Hopper' },
    ]);
    const { context, page } = await openDevice(app.url, { gate: 'North' });
    const problems = collectProblems(context);
    await scan(page, 'ada', 'Let in\\s+Ada Lovelace');
    expect(await readCheckIns()).toEqual(['ada North']);
    await scan(page, 'ada', 'Already inside\\s+Ada Lovelace\\s+since .* at North');
    await scan(page, 'eve', 'Blocked\\s+Eve');
    await scan(page, 'joan', 'Not on the list\\s+joan');
    await scan(page, 'grace', 'The event is full\\s+Grace Hopper');
    // The copy does not know yet. Usher does.
    await events.updateEvent({ eventId, capacity: 2 });
    await events.batchPutAttendees({ eventId, attendees: [{ attendeeId: 'joan', label: 'Joan' }] });
    await scan(page, 'joan', 'Let in');
    expect(problems).toEqual([]);
  });

  test('scans while offline are decided from the copy, survive reloads without a network, and are uploaded', async () => {
    const { app, events, eventId, readCheckIns } = await openEvent({ admission: 'LISTED' }, [
      { attendeeId: 'ada', label: 'Ada Lovelace' },
      { attendeeId: 'eve', isBlocked: true },
      { attendeeId: 'grace' },
    ]);
    const { context, page } = await openDevice(app.url, { gate: 'West' });
    await cut(context, page);
    await scan(page, 'ada', 'Let in\\s+Ada Lovelace');
    await scan(page, 'ada', 'Already inside');
    await scan(page, 'eve', 'Blocked');
    await scan(page, 'joan', 'Not on the list');

    await page.reload();
    await expectState(page, { name: 'Summer fest', waiting: '1 to upload' });
    await scan(page, 'grace', 'Let in');
    await page.reload();
    await expectState(page, { waiting: '2 to upload' });
    expect(await readCheckIns()).toEqual([]);
    // Changes of the list that came too late for the door do not send back who is inside.
    await events.batchPutAttendees({ eventId, attendees: [{ attendeeId: 'grace', isBlocked: true }] });
    await restore(context, page);
    // Whom the door has sent away is not checked in, whatever the list says by now.
    expect(await readCheckIns()).toEqual(['ada West', 'grace West']);
    expect((await lastScans(page))[0]).toMatch(/^grace.*Let in Recorded, although: Blocked$/);
  });

  test('of two devices without a network, the first to upload has the check-in, and the other shows both', async () => {
    const { app, readCheckIns } = await openEvent({}, [{ attendeeId: 'ada', label: 'Ada' }]);
    const [first, second] = [
      await openDevice(app.url, { gate: 'North' }),
      await openDevice(app.url, { gate: 'South' }),
    ];
    for (const { context, page } of [first, second]) {
      await cut(context, page);
      await scan(page, 'ada', 'Let in');
    }
    await restore(second.context, second.page);
    await restore(first.context, first.page);
    expect(await readCheckIns()).toEqual(['ada South']);
    expect(await lastScans(second.page)).toEqual([expect.stringMatching(/Let in$/)]);
    expect(await lastScans(first.page)).toEqual([
      expect.stringMatching(/Let in twice: Already inside since .* at South$/),
    ]);
  });

  test('a scan whose answer is lost is sent again with its ID, and has one result', async () => {
    const { app, readCheckIns } = await openEvent({}, []);
    const { context, page } = await openDevice(app.url);
    const sent: string[] = [];
    await context.route('**/scans', async (route: Route) => {
      const [scan] = route.request().postDataJSON().scans;
      sent.push(scan.scanId);
      const response = await route.fetch();
      await (sent.length === 1 ? route.abort() : route.fulfill({ response }));
    });
    await scan(page, 'ada', 'Let in');
    await expectState(page, { online: 'Online', waiting: '0 to upload' });
    expect(sent.length).toBeGreaterThan(1);
    expect(new Set(sent).size).toBe(1);
    expect(await readCheckIns()).toEqual(['ada -']);
    expect(await lastScans(page)).toEqual([expect.stringMatching(/Let in$/)]);
  });

  test('a refusal that arrives after the door has let somebody in is followed by a scan that says so', async () => {
    const { app, events, eventId, readCheckIns } = await openEvent({ admission: 'LISTED' }, [{ attendeeId: 'ada' }]);
    const { context, page } = await openDevice(app.url);
    let answer = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await context.route('**/scans', async (route: Route) => {
      await asked;
      await route.continue();
    });
    await scan(page, 'ada', 'Let in');
    await events.batchPutAttendees({ eventId, attendees: [{ attendeeId: 'ada', isBlocked: true }] });
    answer();
    await expectState(page, { waiting: '0 to upload' });
    await expect.poll(readCheckIns).toEqual(['ada -']);
    await expect
      .poll(() => lastScans(page))
      .toEqual([expect.stringMatching(/Recorded, although: Blocked$/), expect.stringMatching(/Blocked$/)]);
  });

  test('only malformed scans and those of a deleted event are given up', async () => {
    const { app, events, eventId, readCheckIns } = await openEvent({}, []);
    const { context, page } = await openDevice(app.url);
    await cut(context, page);
    for (const attendeeId of ['ada', '..', 'grace']) await scan(page, attendeeId, 'Let in');
    const refusals = [
      { status: 429, json: { status: false } },
      { status: 403, json: { message: 'Another network' } },
      { status: 404, body: '<h1>Not found</h1>' },
      { status: 400, body: 'Bad request' },
      { status: 503, json: { reason: 'SERVICE_UNAVAILABLE' } },
    ];
    for (const refusal of refusals) {
      await context.route('**/scans', (route) => route.fulfill(refusal));
      await context.setOffline(false);
      await page.waitForResponse((reply) => reply.url().endsWith('/scans') && reply.status() === refusal.status);
      await context.setOffline(true);
      await context.unroute('**/scans');
      await expectState(page, { waiting: '3 to upload' });
    }
    await restore(context, page);
    expect(await readCheckIns()).toEqual(['ada -', 'grace -']);
    expect((await lastScans(page)).filter((text) => text.includes('Cannot be recorded'))).toEqual([
      expect.stringMatching(/^\.\..*Not an attendee ID$/),
    ]);

    await cut(context, page);
    await scan(page, 'joan', 'Let in');
    await events.deleteEvent({ eventId });
    await restore(context, page);
    await page.getByText('The event was deleted. Its scans').waitFor();
    expect((await lastScans(page))[0]).toMatch(/^joan.*Cannot be recorded: The event was deleted$/);
    await scan(page, 'mary', 'The event was deleted');
  });

  test('a device without the code gets nothing, and no device gets the key', async () => {
    const { app } = await openEvent({}, [{ attendeeId: 'ada', label: 'Ada Lovelace' }]);
    const [link = '', code = ''] = app.url.split('#');
    const context = await chrome.newContext();
    onTestFinished(() => context.close());
    const bodies: string[] = [];
    context.on('response', async (response) => bodies.push(await response.text().catch(() => '')));
    const page = await context.newPage();
    await page.goto(link);
    await page.getByText('Sign in', { exact: true }).last().waitFor();
    await page.getByLabel('Code').fill('a wrong code of some length');
    await page.keyboard.press('Enter');
    await page.getByText('Wrong code').waitFor();
    expect(bodies.join()).not.toContain('Ada Lovelace');
    await page.getByLabel('Code').fill(code);
    await page.keyboard.press('Enter');
    await expectState(page, { online: 'Online', copy: '' });
    expect(page.url()).toBe(link);
    await expect.poll(() => bodies.join()).toContain('Ada Lovelace');
    expect(bodies.join()).not.toContain(tenant.apiKey);
    // The cookie is for this event alone, and not for scripts.
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(await page.evaluate(`fetch('/api/events/another').then((reply) => reply.status)`)).toBe(403);

    await page.locator('summary').click();
    await page.getByRole('button', { name: 'Remove everything' }).click();
    await expectState(page, { copy: '' });
  });

  test('a device whose clock is a year ahead scans with the time of the server', async () => {
    const { app, readCheckIns } = await openEvent({}, []);
    const context = await chrome.newContext();
    onTestFinished(() => context.close());
    await context.clock.setSystemTime(Date.now() + YEAR_MS);
    const page = await context.newPage();
    await page.goto(app.url);
    await expectState(page, { online: 'Online', copy: '' });
    await scan(page, 'ada', 'Let in');
    await page.reload();
    await cut(context, page);
    await scan(page, 'grace', 'Let in');
    await restore(context, page);
    expect(await readCheckIns()).toEqual(['ada -', 'grace -']);
  });

  test('the camera reads codes, where the browser can; elsewhere the page says so', async () => {
    const { app, readCheckIns } = await openEvent({}, []);
    const { page: without } = await openDevice(app.url);
    await without.getByText('cannot read codes with its camera').waitFor();
    expect(await without.getByRole('button', { name: 'Open the camera' }).count()).toBe(0);

    const context = await chrome.newContext();
    onTestFinished(() => context.close());
    // Chromium on Linux has none. The picture is that of its fake camera.
    await context.addInitScript(`window.BarcodeDetector = class {
      async detect({ videoWidth }) { return videoWidth > 0 ? [{ rawValue: 'ada' }] : []; }
    }`);
    const page = await context.newPage();
    await page.goto(app.url);
    await page.getByRole('button', { name: 'Open the camera' }).click();
    await expect.poll(readCheckIns).toEqual(['ada -']);
    await page.getByText('Let in', { exact: true }).first().waitFor();
    expect(await page.evaluate(`document.querySelector('video').videoWidth`)).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Close the camera' }).click();
    expect(await page.locator('video').isVisible()).toBe(false);
  });

  /** Ways in which the storage of a browser fails, as functions of the page that begin a transaction. */
  const BREAKS: Readonly<Record<string, string>> = {
    'refuses transactions': `() => { throw new DOMException('Disk failure', 'UnknownError'); }`,
    'aborts transactions': `(begin) => {
      const transaction = begin();
      queueMicrotask(() => transaction.abort());
      return transaction;
    }`,
    'closes the database': `(begin, database) => {
      database.close();
      indexedDB.open = () => { throw new DOMException('Connection lost', 'UnknownError'); };
      return begin();
    }`,
  };
  const breakStorage = (how: string) => `(() => {
    window.working = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (...all) {
      return (${how})(() => window.working.apply(this, all), this);
    };
  })()`;
  const MEND = `IDBDatabase.prototype.transaction = window.working, delete indexedDB.open`;

  test.each(Object.entries(BREAKS))(
    'a browser that %s for a while says so, loses nothing, and goes on by itself',
    async (_name, how) => {
      const { app, events, eventId, readCheckIns } = await openEvent({ admission: 'LISTED' }, [{ attendeeId: 'ada' }]);
      const { page } = await openDevice(app.url);
      const state = () => page.locator('#online').textContent();
      await page.evaluate(breakStorage(how));
      await expect.poll(state, { timeout: 20_000 }).toContain('This device fails');
      await scan(page, 'ada', 'Not stored: scan again\\s+ada');
      expect(await readCheckIns()).toEqual([]);
      await page.evaluate(MEND);
      await expect.poll(state, { timeout: 20_000 }).toBe('Online');
      await events.batchPutAttendees({ eventId, attendees: [{ attendeeId: 'joan' }] });
      await scan(page, 'ada', 'Let in\\s+ada');
      await scan(page, 'joan', 'Let in\\s+joan');
      expect(await readCheckIns()).toEqual(['ada -', 'joan -']);
      await expectState(page, { online: 'Online', waiting: '0 to upload' });
    },
  );

  test('whom the door lets in without a network is counted at once, and once', async () => {
    const attendees = ['ada', 'grace', 'joan'].map((attendeeId) => ({ attendeeId }));
    const { app, readCheckIns } = await openEvent({ admission: 'LISTED', capacity: 3 }, attendees);
    const { context, page } = await openDevice(app.url);
    await scan(page, 'ada', 'Let in');
    await expectState(page, { inside: '1 of 3 inside' });
    await cut(context, page);
    await scan(page, 'grace', 'Let in');
    await expectState(page, { inside: '2 of 3 inside' });
    await scan(page, 'grace', 'Already inside');
    await scan(page, 'joan', 'Let in');
    await expectState(page, { inside: '3 of 3 inside' });
    await scan(page, 'mary', 'Not on the list');
    await page.reload();
    await expectState(page, { inside: '3 of 3 inside', waiting: '2 to upload' });
    await restore(context, page);
    await expectState(page, { inside: '3 of 3 inside' });
    expect(await readCheckIns()).toEqual(['ada -', 'grace -', 'joan -']);
  });

  test('codes of the camera come without what readers add around them, and a camera that stops says so', async () => {
    const { app, readCheckIns } = await openEvent({}, []);
    const context = await chrome.newContext();
    onTestFinished(() => context.close());
    await context.addInitScript(`window.codes = [' ', '\\ufeffT-1', 'T-2\\n', 'T-3\\u00a0 ', '\\u001dT-4\\u0000', 'T 5\\u200b\\r\\n'];
    window.BarcodeDetector = class {
      async detect() { return window.codes.splice(0, 1).map((rawValue) => ({ rawValue })); }
    }`);
    const page = await context.newPage();
    await page.goto(app.url);
    await page.getByRole('button', { name: 'Open the camera' }).click();
    await expect.poll(readCheckIns).toEqual(['T 5 -', 'T-1 -', 'T-2 -', 'T-3 -', 'T-4 -']);
    await page.evaluate(`document.querySelector('video').srcObject.getTracks()[0].dispatchEvent(new Event('ended'))`);
    await expectState(page, { 'camera-problem': 'The camera has stopped. Open it again.' });
    await page.evaluate(`BarcodeDetector.prototype.detect = async () => { throw new Error('Service unavailable'); }`);
    await page.getByRole('button', { name: 'Open the camera' }).click();
    await expectState(page, { 'camera-problem': 'The camera reads no codes: Service unavailable' });
    expect(await page.locator('video').isVisible()).toBe(false);
  });

  test('a reader that types reaches the field from everywhere, and the page is accessible in light and dark', async () => {
    const { app } = await openEvent({}, [{ attendeeId: '4711', label: 'أدا لوفليس' }]);
    const options = { viewport: { width: 320, height: 640 }, colorScheme: 'light' } as const;
    const { page } = await openDevice(app.url, { options });
    await page.locator('#verdict').click();
    await page.keyboard.type('4711');
    await page.keyboard.press('Enter');
    await page.getByText('Let in', { exact: true }).first().waitFor();
    for (const attendeeId of ['4711', 'b'.repeat(255)]) {
      await page.getByLabel('Attendee ID').fill(attendeeId);
      await page.keyboard.press('Enter');
    }
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectContrast(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
  });
});
