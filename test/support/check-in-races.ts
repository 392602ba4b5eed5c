/** Scans and changes of an event with rules that race on two replicas. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { openReplicas } from './races.ts';
import { clientsOf } from './service.ts';

const MOST_PUT = 500;
/** How many changes race at a time. */
const RACING = 16;

/** Sends more scans than there are places, alone and in batches, twice each, while some are undone. */
export async function raceForPlaces({ capacity, scans }: { capacity: number; scans: number }): Promise<void> {
  await using replicas = await openReplicas();
  const { services, sql, tenant } = replicas;
  const clients = services.map((service) => clientsOf(service, tenant).events);
  const events = (number: number) => clients[number % 2] as (typeof clients)[number];
  const eventId = randomUUID();
  await events(0).createEvent({ eventId, capacity });
  const sent = Array.from({ length: scans }, (_, at) => ({ attendeeId: `attendee-${at}`, scanId: randomUUID() }));
  const send = async (scan: (typeof sent)[number], replica: number) => {
    const { results } = await events(replica).batchCheckIn({ eventId, scans: [scan] });
    return results[0]?.outcome === 'CHECKED_IN';
  };
  // Each scan reaches both replicas, as after a lost reply.
  const answers = await Promise.all(sent.map(async (scan, at) => Promise.all([send(scan, at), send(scan, at + 1)])));
  expect(answers.filter(([first, second]) => first !== second)).toEqual([]);
  expect(answers.filter(([first]) => first)).toHaveLength(capacity);

  const admitted = sent.filter((_, at) => answers[at]?.[0]);
  const others = sent.filter((_, at) => !answers[at]?.[0]).slice(0, capacity);
  const undone = admitted.slice(0, capacity / 2);
  const tries = others.map(({ attendeeId }, at) =>
    events(at)
      .checkIn({ eventId, attendeeId })
      .then(
        () => 1,
        () => 0,
      ),
  );
  await Promise.all(undone.map(({ attendeeId }, at) => events(at).undoCheckIn({ eventId, attendeeId })));
  const came = (await Promise.all(tries)).reduce<number>((sum, one) => sum + one, 0);
  const [counted] = await sql`
    select checked_in, (select count(*)::integer from check_ins where event_id = ${eventId}) as rows
    from events where id = ${eventId}`;
  expect(counted).toEqual({ checked_in: capacity - undone.length + came, rows: capacity - undone.length + came });
  expect(came).toBeLessThanOrEqual(undone.length);
}

/** Copies a list page by page, and then by its changes, while attendees are listed, checked in and deleted. */
export async function raceListWithScans({
  attendees,
  changes,
  pageSize,
}: {
  attendees: number;
  changes: number;
  pageSize: number;
}): Promise<void> {
  await using replicas = await openReplicas();
  const { services, sql, tenant } = replicas;
  const [first, second] = services.map((service) => clientsOf(service, tenant).events);
  if (!first || !second) throw new Error('There are two replicas');
  const eventId = randomUUID();
  const ids = Array.from({ length: attendees }, (_, at) => `attendee-${at}`);
  await first.createEvent({ eventId, admission: 'LISTED' });
  for (let at = 0; at < attendees; at += MOST_PUT) {
    const put = ids.slice(at, at + MOST_PUT).map((attendeeId) => ({ attendeeId }));
    await first.batchPutAttendees({ eventId, attendees: put });
  }

  let isDone = false;
  /** Spread over the list. */
  const changed = ids.filter((_, at) => at % Math.ceil(attendees / changes) === 0);
  const changing = forEachOf(changed, async (attendeeId, at) => {
    const events = at % 2 ? first : second;
    if (at % 5 === 0) await events.deleteAttendees({ eventId, attendeeIds: [attendeeId] });
    else if (at % 3 === 0) await events.batchPutAttendees({ eventId, attendees: [{ attendeeId, label: 'new' }] });
    else await events.checkIn({ eventId, attendeeId });
  }).then(() => {
    isDone = true;
  });
  const copy = new Map<string, string>();
  const keep = (found: readonly Awaited<ReturnType<typeof first.listAttendees>>['attendees'][number][]) => {
    for (const { attendeeId, label, isDeleted, checkedInAt } of found)
      if (isDeleted) copy.delete(attendeeId);
      else copy.set(attendeeId, `${label} ${checkedInAt !== undefined}`);
  };
  let [pageToken, cursor] = ['', ''];
  do {
    const page = await second.listAttendees({ eventId, pageSize, pageToken });
    keep(page.attendees);
    [pageToken, cursor] = [page.nextPageToken, page.cursor];
  } while (pageToken);
  for (;;) {
    const wasDone = isDone;
    const changes = await first.listAttendees({ eventId, pageSize, cursor });
    keep(changes.attendees);
    cursor = changes.cursor;
    if (wasDone && changes.attendees.length === 0) break;
  }
  await changing;
  const rows = await sql`
    select a.attendee_id, a.label, c.attendee_id is not null as came from attendees a
    left join check_ins c using (application_id, event_id, attendee_id)
    where event_id = ${eventId} and not is_deleted`;
  expect(copy).toEqual(new Map(rows.map(({ attendee_id, label, came }) => [attendee_id, `${label} ${came}`])));
}

/** Runs `work` for each value, some at a time. */
async function forEachOf<T>(values: readonly T[], work: (value: T, index: number) => Promise<void>): Promise<void> {
  const left = values.entries();
  const workers = Array.from({ length: RACING }, async () => {
    for (const [index, value] of left) await work(value, index);
  });
  await Promise.all(workers);
}
