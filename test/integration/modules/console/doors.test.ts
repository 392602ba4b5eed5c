/** The pages of an event: its figures, its list, who was refused, and its rules. */
import { randomUUID } from 'node:crypto';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { afterAll, describe, expect, test } from 'vitest';
import { MINUTE } from '../../../support/clock.ts';
import { ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { clientsOf } from '../../../support/service.ts';

const fixture = await ConsoleFixture.open();
const { events } = clientsOf(fixture.service, fixture.tenant);
const browser = await fixture.signIn(OPERATORS.admin);

afterAll(() => fixture.close());

const NOON = new Date('2026-03-01T12:00:00Z');

async function openEvent(rules: Partial<Parameters<typeof events.createEvent>[0]> = {}) {
  const eventId = `night / ${randomUUID()}`;
  await events.createEvent({ eventId, ...rules });
  const path = `/applications/${fixture.tenant.id}/events/${encodeURIComponent(eventId)}`;
  const readAttendees = async () => {
    const { attendees } = await events.listAttendees({ eventId });
    return attendees.map(({ attendeeId, label, isBlocked }) => `${attendeeId} ${label} ${isBlocked}`).sort();
  };
  return { eventId, path, readAttendees };
}

test('an event has its counts, and its check-ins over time, in all and by gate', async () => {
  const { eventId, path } = await openEvent({ capacity: 50 });
  await events.batchPutAttendees({ eventId, attendees: [{ attendeeId: 'ada' }, { attendeeId: 'mary' }] });
  const scan = (attendeeId: string, gate: string) => ({ scanId: randomUUID(), attendeeId, gate });
  await events.batchCheckIn({ eventId, scans: [scan('ada', 'North'), scan('grace', 'North'), scan('joan', '')] });
  fixture.clock.advance(3 * MINUTE);
  await events.checkIn({ eventId, attendeeId: 'lin', gate: 'South' });
  for (const page of [path, `${path}/figures`]) {
    const { text, body } = await browser.open(page);
    expect(text).toContain('Have come4 of 50');
    expect(text).toContain('On the list2');
    expect(text).toMatch(/All gates ?4.*North ?2.*No gate ?1.*South ?1/);
    expect(text).toContain('a minute per bar');
    // The time between is empty.
    expect(body.match(/<svg class="bars"/g)).toHaveLength(4);
    expect(body.match(/<rect /g)).toHaveLength(4 * 4);
  }
  const { text } = await browser.open(path);
  expect(text).toMatch(/lin.*South/);
});

test('figures of many gates show the largest ones, and the others together', async () => {
  const { eventId, path } = await openEvent();
  const scans = Array.from({ length: 12 }, (_, at) => ({
    scanId: randomUUID(),
    attendeeId: String(at),
    gate: `Gate ${at < 8 ? at : 0}`,
  }));
  await events.batchCheckIn({ eventId, scans });
  const { body, text } = await browser.open(`${path}/figures`);
  expect(body.match(/<svg class="bars"/g)).toHaveLength(1 + 5 + 1);
  expect(text).toMatch(/Gate 0 ?5.*Other gates ?3/);
});

test('pasted lines are checked first: what is added, what is refused and why', async () => {
  const { path, readAttendees } = await openEvent();
  const form = `${path}/attendees/import`;
  const lines = 'ada,Ada Lovelace\r\n"eve","Eve, Example"\n\n..,Dots\nada,Again\n,Nobody\nx,y,z\ngrace\n';
  const checked = await browser.submit(await browser.open(form), form, { lines });
  expect(checked.text).toContain('4 lines cannot be added');
  expect(checked.text).toMatch(/4\.\.,DotsThe ID/);
  expect(checked.text).toContain('5ada,Againhas the ID of line 1');
  expect(checked.text).toContain('6,NobodyThe ID');
  expect(checked.text).toContain('7x,y,zhas more than an ID and a name');
  expect(checked.text).toContain('3 attendees to add');
  expect(await readAttendees()).toEqual([]);

  const added = await browser.submit(checked, form);
  expect(added.text).toContain('Added.');
  expect(await readAttendees()).toEqual(['ada Ada Lovelace false', 'eve Eve, Example false', 'grace  false']);
  expect((await fixture.readAudit())[0]).toMatchObject({ action: 'EventService/BatchPutAttendees' });
  const tabs = 'ada\tLovelace, Ada\n"li""n"\t"Lin ""L"" Chen"';
  await browser.submit(await browser.submit(await browser.open(form), form, { lines: tabs }), form);
  expect(await readAttendees()).toEqual(expect.arrayContaining(['ada Lovelace, Ada false', 'li"n Lin "L" Chen false']));
});

test('more than one call takes is added, and a list is longer than other forms', async () => {
  const { path, readAttendees } = await openEvent();
  const form = `${path}/attendees/import`;
  const lines = Array.from({ length: 1_200 }, (_, at) => `attendee-${at},Attendee ${at}`).join('\n');
  const checked = await browser.submit(await browser.open(form), form, { lines });
  expect(checked.text).toContain('And 1,100 attendees more.');
  await browser.submit(checked, form);
  const { events: own } = clientsOf(fixture.service, fixture.tenant);
  const eventId = decodeURIComponent(path.split('/').at(-1) ?? '');
  expect((await own.getEventCounts({ eventId })).listed).toBe(1_200);
  expect(await readAttendees()).toHaveLength(50);
  expect((await browser.post(form, { lines: 'a'.repeat(70_000) })).status).toBe(413);
});

test('the check names the heading that it leaves out, and stores the rest', async () => {
  const { path, readAttendees } = await openEvent();
  const form = `${path}/attendees/import`;
  // Somebody who is called as a column is a guest below the heading.
  const lines = '\ufeffName;ID\nName;ID\nLovelace, Ada;a-1\n';
  const checked = await browser.submit(await browser.open(form), form, { lines });
  expect(checked.text).toContain('Line 1 is a heading and is left out: Name;ID');
  expect(checked.text).toContain('2 attendees to add');
  await browser.submit(checked, form);
  expect(await readAttendees()).toEqual(expect.arrayContaining(['ID Name false', 'a-1 Lovelace, Ada false']));
});

test('an attendee is found, blocked with the name kept, admitted again and removed', async () => {
  const { eventId, path, readAttendees } = await openEvent({ admission: 'LISTED' });
  const attendees = [
    { attendeeId: 'a-1', label: 'Ada Lovelace' },
    { attendeeId: 'a-2', label: 'ADA BYRON' },
    { attendeeId: 'ada', label: 'Grace Hopper' },
  ];
  await events.batchPutAttendees({ eventId, attendees });
  const list = `${path}/attendees`;
  const rows = async (q: string) =>
    [...(await browser.open(`${list}?${new URLSearchParams({ q })}`)).body.matchAll(/<tr><td><bdi>([^<]*)/g)].map(
      ([, id]) => id,
    );
  expect(await rows('ada')).toEqual(['a-2', 'a-1', 'ada']);
  expect(await rows('ada l')).toEqual(['a-1']);
  expect(await rows('a-2')).toEqual(['a-2']);
  expect(await rows('lovelace')).toEqual([]);

  const blocked = await browser.post(`${list}/block`, { attendeeId: 'a-1' });
  expect(blocked.location).toBe(`${list}?done=saved`);
  expect(await readAttendees()).toContain('a-1 Ada Lovelace true');
  expect((await browser.open(list)).text).toContain('Blocked');
  await browser.post(`${list}/unblock`, { attendeeId: 'a-1' });
  expect(await readAttendees()).toContain('a-1 Ada Lovelace false');
  await browser.post(`${list}/delete`, { attendeeId: 'a-1' });
  expect(await readAttendees()).toHaveLength(2);
  const gone = await browser.post(`${list}/block`, { attendeeId: 'a-1' });
  expect({ status: gone.status, text: gone.text }).toEqual({
    status: 422,
    text: expect.stringContaining('Attendee not listed.'),
  });
});

test('who was refused at the doors is listed with the reason, and who was inside in spite of it', async () => {
  const { eventId, path } = await openEvent({ admission: 'LISTED' });
  await events.batchPutAttendees({
    eventId,
    attendees: [{ attendeeId: 'eve', isBlocked: true }, { attendeeId: 'ada' }],
  });
  const scan = (attendeeId: string, alreadyAdmitted = false) => ({
    scanId: randomUUID(),
    attendeeId,
    gate: 'North',
    alreadyAdmitted,
  });
  await events.batchCheckIn({ eventId, scans: [scan('eve'), scan('joan', true), scan('ada')] });
  const { text, body } = await browser.open(`${path}/refusals`);
  expect(text).toMatch(/eveAttendee blockedNoNorth/);
  expect(text).toMatch(/joanAttendee not listedYes, by the doorNorth/);
  expect(body.match(/<tr><td>/g)).toHaveLength(2);
});

test('the rules of an event are edited, with what is wrong at its field, and not over the change of somebody else', async () => {
  const { eventId, path } = await openEvent();
  const form = `${path}/edit`;
  const page = await browser.open(form);
  const wrong = await browser.submit(page, form, { startsAt: 'tomorrow', capacity: 'many' });
  expect(wrong.status).toBe(422);
  for (const field of ['startsAt', 'capacity']) expect(wrong.body).toContain(`id="${field}-wrong"`);
  const typed = {
    name: 'Second night',
    startsAt: '26 Nov 2026, 18:00',
    endsAt: '2026-11-26 23:30',
    capacity: '1,200',
    listed: 'on',
  };
  const saved = await browser.submit(page, form, typed);
  expect(saved.text).toContain('Saved.');
  expect(saved.text).toContain('Capacity1,200');
  expect((await events.getEvent({ eventId })).event).toMatchObject({
    name: 'Second night',
    capacity: 1200,
    admission: 'LISTED',
    endsAt: { seconds: BigInt(Date.parse('2026-11-26T23:30:00Z') / 1_000) },
  });
  const late = await browser.submit(page, form, { ...typed, capacity: '5' });
  expect(late.text).toContain('Somebody has changed this since you opened it');
  const cleared = await browser.open(form);
  const none = { name: '', startsAt: '', endsAt: '', capacity: '' };
  await browser.post(
    form,
    Object.entries({ ...cleared.forms.find(({ action }) => action === form)?.fields, ...none }).filter(
      ([name]) => name !== 'listed',
    ),
  );
  expect((await events.getEvent({ eventId })).event).toMatchObject({ admission: 'ANYONE' });
  expect((await events.getEvent({ eventId })).event?.capacity).toBeUndefined();
});

test('an event of the year 26 is shown and edited as one, and never as one of 2026', async () => {
  const { eventId, path } = await openEvent();
  const form = `${path}/edit`;
  const startsAt = '15 Jun 0026, 18:00:00';
  const { text } = await browser.submit(await browser.open(form), form, { startsAt, endsAt: '1 Jan 9999' });
  expect(text.replaceAll('\u00a0', ' ')).toContain(startsAt);
  const year26 = { seconds: BigInt(Date.parse('0026-06-15T18:00:00Z') / 1_000) };
  expect((await events.getEvent({ eventId })).event).toMatchObject({ startsAt: year26 });
  await browser.submit(await browser.open(form), form, { name: 'Ludi' });
  expect((await events.getEvent({ eventId })).event).toMatchObject({ name: 'Ludi', startsAt: year26 });
  const { status, body } = await browser.submit(await browser.open(form), form, { startsAt: '1 Jan 0000' });
  expect({ status, names: body.includes('id="startsAt-wrong"') }).toEqual({ status: 422, names: true });
});

test('support blocks, but neither edits nor adds; a viewer sees', async () => {
  const { eventId, path } = await openEvent();
  await events.batchPutAttendees({ eventId, attendees: [{ attendeeId: 'ada' }] });
  const support = await (await fixture.signIn(OPERATORS.support)).open(`${path}/attendees`);
  expect(support.forms.map(({ action }) => action)).toContain(`${path}/attendees/block`);
  expect(support.body).not.toMatch(/attendees\/(import|delete)|events\/[^"]*\/edit/);
  const viewer = await (await fixture.signIn(OPERATORS.viewer)).open(`${path}/attendees`);
  expect(viewer.text).toContain('ada');
  expect(viewer.forms.map(({ action }) => action)).not.toContain(`${path}/attendees/block`);
});

test.each<[string, Parameters<typeof openEvent>[0], Record<string, string>]>([
  ['none', {}, {}],
  ['a beginning', { startsAt: timestampFromDate(NOON) }, { 'Check-ins from': '1 Mar 2026, 12:00:00 UTC' }],
  ['an end', { endsAt: timestampFromDate(NOON) }, { Until: '1 Mar 2026, 12:00:00 UTC' }],
  ['a capacity', { capacity: 1_200 }, { Capacity: '1,200' }],
  ['a list', { admission: 'LISTED' }, { 'Lets in': 'only attendees on the list' }],
])('an event shows the rules that it has: %s', async (_, rules, facts) => {
  const { path } = await openEvent(rules);
  const page = await browser.open(path);
  const { 'Have come': _came, 'On the list': _listed, ...shown } = page.facts;
  expect(shown).toEqual(facts);
  expect(page.body.includes('class="facts"')).toBe(Object.keys(facts).length > 0);
});

test('the form of an event has its rules, and an event that was not moved stays where it is', async () => {
  const rules = { startsAt: timestampFromDate(NOON), capacity: 5, admission: 'LISTED' };
  const { eventId, path } = await openEvent(rules);
  const form = `${path}/edit`;
  expect((await browser.submit(await browser.open(form), form, {})).text).toContain('Saved.');
  expect((await events.getEvent({ eventId })).event).toMatchObject(rules);
});

test('the pages of an event say which of them is open, and that nobody was checked in before', async () => {
  const { path } = await openEvent();
  for (const [page, tab] of [
    ['', 'Check-ins'],
    ['/attendees', 'Attendees'],
    ['/refusals', 'Refusals'],
  ]) {
    const { body, text } = await browser.open(`${path}${page}`);
    const open = [
      ...(/<nav class="tabs" aria-label="Event">(.*?)<\/nav>/s
        .exec(body)?.[1]
        ?.matchAll(/<a [^>]* aria-current="page">([^<]*)/g) ?? []),
    ];
    expect(open.map(([, label]) => label)).toEqual([tab]);
    expect(text).not.toContain('Already checked in');
  }
  expect((await browser.open(`${path}?already=yesterday`)).text).not.toContain('Already checked in');
});

test('the list says of each attendee whether they came and are blocked, and names them on its buttons', async () => {
  const { eventId, path } = await openEvent();
  const attendees = [
    { attendeeId: 'a-1', label: 'Ada' },
    { attendeeId: 'a-2', label: '' },
    { attendeeId: 'a-3', label: 'Eve' },
    { attendeeId: 'a-4', label: 'Mallory' },
  ];
  await events.batchPutAttendees({ eventId, attendees });
  for (const attendeeId of ['a-1', 'a-3']) await events.checkIn({ eventId, attendeeId });
  const blocked = attendees.slice(2).map((each) => ({ ...each, isBlocked: true }));
  await events.batchPutAttendees({ eventId, attendees: blocked });
  const { rows, text } = await browser.open(`${path}/attendees`);
  const came = expect.stringMatching(/^Came \d+ \w+ \d{4}, [\d:]{8}$/);
  const cameAndBlocked = expect.stringMatching(/^Came .* Blocked$/);
  const byId = new Map(rows.map(([id, name, state, , actions]) => [id, [name, state, actions]]));
  expect(Object.fromEntries(byId)).toEqual({
    'a-1': ['Ada', came, 'Block Ada Remove Ada'],
    'a-2': ['–', '–', 'Block a-2 Remove a-2'],
    'a-3': ['Eve', cameAndBlocked, 'Unblock Eve Remove Eve'],
    'a-4': ['Mallory', 'Blocked', 'Unblock Mallory Remove Mallory'],
  });
  expect(text).not.toContain('These are the first');
});

test('a search shows 50 attendees, and says if there may be more', async () => {
  const { eventId, path } = await openEvent();
  const attendees = Array.from({ length: 50 }, (_, at) => ({ attendeeId: `a-${at}`, label: at === 0 ? 'Eve' : 'Ada' }));
  await events.batchPutAttendees({ eventId, attendees });
  const cut = 'These are the first 50. Type more of the name.';
  expect((await browser.open(`${path}/attendees?q=ada`)).text).not.toContain(cut);
  await events.batchPutAttendees({ eventId, attendees: [{ attendeeId: 'a-50', label: 'Ada' }] });
  const { text, rows } = await browser.open(`${path}/attendees?q=ada`);
  expect([text.includes(cut), rows.length]).toEqual([true, 50]);
});

describe('the check of pasted lines', () => {
  const linesOf = (count: number, label = 'Ada') =>
    Array.from({ length: count }, (_, at) => `a-${at},${label}`).join('\n');
  const check = async (lines: string) => {
    const { path } = await openEvent();
    const form = `${path}/attendees/import`;
    return browser.submit(await browser.open(form), form, { lines });
  };

  test('shows 100 lines, and how many more there are', async () => {
    const all = await check(linesOf(100));
    expect([all.rows.length, /And \d+ attendees? more/.test(all.text)]).toEqual([100, false]);
    const cut = await check(linesOf(101));
    expect([cut.rows.length, cut.text.includes('And 1 attendee more.')]).toEqual([100, true]);
    expect(cut.text).not.toContain('cannot be added');
    expect(cut.text).not.toContain('is a heading');
  });

  test('has no button if no line can be added', async () => {
    const { body, text } = await check('..\n,\n');
    expect(text).toContain('2 lines cannot be added');
    expect(text).toContain('No line can be added.');
    expect(body).not.toContain('<button>Add');
  });
});

test('what was checked is added in calls of 500, without lines that are refused now', async () => {
  const { path, readAttendees } = await openEvent();
  const form = `${path}/attendees/import`;
  const lines = Array.from({ length: 500 }, (_, at) => `a-${at},Ada`).join('\n');
  expect((await browser.post(form, { lines, confirmed: 'on' })).location).toBe(`${path}/attendees?done=added`);
  const other = await openEvent();
  const otherForm = `${other.path}/attendees/import`;
  expect((await browser.post(otherForm, { lines: 'ada\n..\n', confirmed: 'on' })).status).toBe(303);
  expect(await other.readAttendees()).toEqual(['ada  false']);
  expect((await browser.post(otherForm, { lines: '..', confirmed: 'on' })).text).toContain('1 line cannot be added');
  expect(await readAttendees()).toHaveLength(50);
});

test('an event is created below the list, by its ID', async () => {
  const { text } = await browser.open(`/applications/${fixture.tenant.id}/events`);
  expect(text).toMatch(/Create an event\s?Event ID.*Name/);
});

test('nobody is added to an event that there is not', async () => {
  const form = `/applications/${fixture.tenant.id}/events/none/attendees/import`;
  expect((await browser.open(form)).status).toBe(404);
  expect((await browser.post(form, { lines: 'ada' })).status).toBe(404);
});
