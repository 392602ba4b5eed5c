/** The pages of an event: its figures, its list, who was refused, and its rules. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { type AttendeeLine, readAttendeeLines } from '../../../../src/modules/console/parts/attendee-lines.ts';
import { MINUTE } from '../../../support/clock.ts';
import { ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { clientsOf } from '../../../support/service.ts';

const fixture = await ConsoleFixture.open();
const { events } = clientsOf(fixture.service, fixture.tenant);
const browser = await fixture.signIn(OPERATORS.admin);

afterAll(() => fixture.close());

async function openEvent(rules: { readonly capacity?: number; readonly admission?: string } = {}) {
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

test('an empty paste is not stored', () => {
  expect(readAttendeeLines(' \n\r\n\ufeff').lines).toEqual([]);
});

const SPREADSHEETS = [
  ['semicolons', 'a-1;Lovelace, Ada\na-2;Hopper, Grace', ['a-1=Lovelace, Ada', 'a-2=Hopper, Grace']],
  ['a semicolon in a name', 'a-1,Ada; Countess\n"a;2","Grace"', ['a-1=Ada; Countess', 'a;2=Grace']],
  ['the first line of Excel', 'sep=;\r\na-1;Ada, Countess', ['a-1=Ada, Countess']],
  ['quotes after what has no width', 'a-1,\u200b"Ada, Countess"\u00a0', ['a-1=Ada, Countess']],
  ['a byte order mark', '\ufeffa-1;Ada\n\ufeff"a-2";Grace', ['a-1=Ada', 'a-2=Grace']],
] as const;

test.each(SPREADSHEETS)('pasted lines with %s are read', (_, text, attendees) => {
  expect(readAttendeeLines(text).lines.map(describeLine)).toEqual(attendees);
});

test('spaces without width go from the ends of cells, and an ID with one is refused', () => {
  const text = '\u200ba-1\u200b,\u200eAda\u202c\n\u2060a-2\u00a0,Zoë\u200d👩\u200d🚀\na\u200b-3,Eve';
  expect(readAttendeeLines(text).lines.map(describeLine)).toEqual([
    'a-1=Ada',
    'a-2=Zoë\u200d👩\u200d🚀',
    '3: The ID has an invisible character, U+200B, that no scanner would find',
  ]);
});

test.each([
  ['ID,Name\na-1,Ada', ['a-1=Ada']],
  ['\ufeffTicket-Nr.;Gast\na-1;Ada', ['a-1=Ada']],
  ['Full name\tAttendee ID\nAda\ta-1', ['a-1=Ada']],
  ['attendeeId\na-1', ['a-1']],
])('the heading of %j is left out', (text, attendees) => {
  const { heading, lines } = readAttendeeLines(text);
  expect([heading?.number, lines.map(describeLine)]).toEqual([
    1,
    attendees.map((each) => (each.includes('=') ? each : `${each}=`)),
  ]);
  expect(readAttendeeLines(text, { mayHaveHeading: false })).toMatchObject({ lines: [{ number: 1 }, { number: 2 }] });
});

test.each([
  ['a-1,"Ada\na-2,Grace', ['1: has a quote that does not close', 'a-2=Grace']],
  ['a-1,"Ada\nLovelace"\na-2,Grace', ['1: has a quote that line 2 closes', 'a-2=Grace']],
  ['a-1,Ada\na-2, "Grace', ['a-1=Ada', '2: has a quote that does not close']],
  ['"a-1" x,Ada\na-2,Grace', ['1: has a quote that does not close, or text after one', 'a-2=Grace']],
  ['a-1;Ada\na-2,Grace\na-3', ['a-1=Ada', '2: has a comma and no semicolon, as other lines have', 'a-3=']],
  ['a-1;Ada;Lovelace', ['1: has more than an ID and a name; put a name with a semicolon in quotes']],
])('the lines of %j that cannot be understood are refused with their number', (text, lines) => {
  const read = readAttendeeLines(text).lines.map(describeLine);
  expect(read).toEqual(lines.map((line) => (/^\d: /.test(line) ? expect.stringContaining(line) : line)));
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

test('long lines of quotes are refused, and keep nobody waiting', () => {
  const read = (length: number) => readAttendeeLines(`a,${'"'.repeat(length)}x\n`.repeat(3)).lines;
  for (const length of [60_000, 60_001]) expect(read(length)).toHaveLength(3);
});

const describeLine = ({ number, attendeeId, label, problem }: AttendeeLine) =>
  problem ? `${number}: ${problem}` : `${attendeeId}=${label}`;

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
