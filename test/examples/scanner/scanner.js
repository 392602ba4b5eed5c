/**
 * The scans of this device. Each is stored first, then decided by Usher or from the copy, and uploaded until Usher has
 * answered. Nothing here touches the page, which gets the event `change`.
 */
import { CallError, Calls } from './calls.js';
import { decide } from './decide.js';
import { Store } from './store.js';

/** How long people at the door wait for Usher. Then the copy decides. */
const ANSWER_MS = 2_000;
/** The most that Usher takes. */
const BATCH = 200;
const PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
/** The times of answers have whole seconds. */
const CLOCK_STEP_MS = 2_000;

export class Scanner extends EventTarget {
  event;
  counts;
  /** How many scans Usher has not answered. */
  waiting = 0;
  /** Whether the whole list is on this device. */
  isCopied = false;
  /** Whether the last call had an answer. */
  isOnline = navigator.onLine;
  /** Why the server refuses this device, if it does. */
  refusal;
  /** What fails on this device, such as its storage, if something does. */
  problem;
  /** How many scans have let somebody in whom Usher does not count yet. */
  admitted = 0;
  #store;
  #calls;
  #lock;
  #clockOffsetMs = 0;
  #failures = 0;
  #isLoaded = false;
  #timer;
  /** Who waits for the answer to a scan, by its ID. */
  #waiters = new Map();

  constructor(eventId) {
    super();
    this.#store = new Store(eventId);
    this.#calls = new Calls(eventId, (at) => this.#setClock(at));
    // Tabs take turns: what one has read, no other has changed when it is stored.
    this.#lock = (work) => navigator.locks.request(`scanner of ${eventId}`, work);
  }

  async start() {
    addEventListener('online', () => this.sync());
    addEventListener('offline', () => this.#fail(new CallError({})));
    await this.#load().catch((error) => this.#fail(error));
    void this.sync();
  }

  /** Reads what is on this device. */
  async #load() {
    const store = this.#store;
    this.#clockOffsetMs = (await store.readValue('clockOffsetMs')) ?? 0;
    this.event = await store.readValue('event');
    this.counts = await store.readValue('counts');
    this.isCopied = Boolean((await store.readValue('position'))?.cursor);
    await store.removeOldScans(this.#now().getTime());
    this.#isLoaded = true;
    await this.#tell();
  }

  readLastScans = (count) => this.#store.readLastScans(count);

  /**
   * Stores and decides a scan. `show` gets the decision of the copy at once, and while Usher is asked, that of Usher
   * after it. Only a decision that `isFinal` opens the door. A scan that cannot be stored lets nobody in.
   */
  async scan(attendeeId, gate, show) {
    const scanId = crypto.randomUUID();
    try {
      await this.#scan({ scanId, attendeeId, gate }, show);
    } catch (error) {
      this.#fail(error);
      show({ scanId, attendeeId, letsIn: false, reason: 'NOT_STORED', isFinal: true });
    }
  }

  async #scan({ scanId, attendeeId, gate }, show) {
    const now = this.#now();
    const attendee = await this.#store.readAttendee(attendeeId);
    const letIn = await this.#readAdmitted();
    const verdict = decide({
      event: this.event,
      counts: this.counts,
      isCopied: this.isCopied,
      attendee,
      waiting: letIn.find((scan) => scan.attendeeId === attendeeId),
      admitted: letIn.length,
      now,
    });
    const scan = {
      scanId,
      attendeeId,
      label: attendee?.label ?? '',
      gate,
      occurredAt: now.toISOString(),
    };
    if (!this.isOnline) {
      await this.#store.keepScan(withDecision(scan, verdict));
      await this.#tell();
      return show({ ...scan, ...verdict, isFinal: true });
    }
    const number = await this.#store.keepScan({ ...scan, alreadyAdmitted: false, waiting: 1 });
    show({ ...scan, ...verdict, isFinal: false });
    const result = await this.#askUsher(scan.scanId);
    show({ ...scan, ...(result ? toVerdict(result) : await this.#decideLate(number, verdict)), isFinal: true });
  }

  /** Uploads what waits and copies what has changed, now and from then on. */
  async sync() {
    clearTimeout(this.#timer);
    try {
      if (!this.#isLoaded) await this.#load();
      await this.#upload();
      await this.#copy();
      this.#succeed();
    } catch (error) {
      this.#fail(error);
    }
    await this.#tell();
  }

  /** Removes everything from this device. Scans that wait are lost. */
  forget = () => this.#lock(() => this.#store.forgetAll());

  /** Resolves with the result of a stored scan, or with undefined if that takes too long. */
  async #askUsher(scanId) {
    const answer = new Promise((resolve) => {
      this.#waiters.set(scanId, resolve);
      setTimeout(resolve, ANSWER_MS);
    });
    this.#upload().catch((error) => {
      this.#fail(error);
      this.#waiters.get(scanId)?.();
    });
    const result = await answer;
    this.#waiters.delete(scanId);
    if (!result) this.isOnline = false;
    return result;
  }

  /** Decides from the copy although Usher was asked. It may have the scan, and its answer may still come. */
  async #decideLate(number, verdict) {
    const scan = await this.#store.readScan(number);
    if (scan.result) return toVerdict(scan.result);
    await this.#store.keepScan({ ...scan, alreadyAdmitted: verdict.letsIn });
    await this.#tell();
    return verdict;
  }

  async #upload() {
    let size = BATCH;
    const uploadBatch = async () => {
      const scans = await this.#store.readWaiting(size);
      if (scans.length === 0) return false;
      try {
        const { results } = await this.#calls.sendScans(scans.map(toRequest));
        // Before they are stored, which may fail: Usher has decided.
        for (const [at, { scanId }] of scans.entries()) this.#waiters.get(scanId)?.(results[at]);
        for (const [at, scan] of scans.entries()) await this.#settle(scan, results[at]);
        size = BATCH;
      } catch (error) {
        if (isEventGone(error)) await this.#endEvent();
        // A scan that is malformed is given up, but not those that were sent with it: they are sent in smaller batches.
        else if (!isMalformed(error)) throw error;
        else if (scans.length > 1) size = Math.ceil(scans.length / 2);
        else await this.#giveUp(scans[0], 'VALIDATION_FAILED');
      }
      return true;
    };
    while (await this.#lock(uploadBatch));
  }

  async #giveUp(scan, reason) {
    const result = { outcome: 'LOST', reason };
    this.#waiters.get(scan.scanId)?.(result);
    await this.#settle(scan, result);
  }

  async #settle(sent, result) {
    // The door may have let somebody in while the scan was on its way.
    const { waiting: _, ...scan } = await this.#store.readScan(sent.number);
    const settled = [{ ...scan, result }];
    const isFinal = sent.alreadyAdmitted && result.reason !== 'SCAN_ID_REUSED';
    if (result.outcome === 'REFUSED' && scan.alreadyAdmitted && !isFinal) {
      // The result of a scan ID never changes, so a second one says that the person is inside.
      const { number: _number, ...again } = scan;
      settled.push({ ...again, scanId: crypto.randomUUID(), waiting: 1 });
    }
    await this.#store.settleScans(settled, result.checkIn);
    const { counts } = this;
    // Until Usher is asked for the counts again.
    const checkedIn = (counts?.checkedIn ?? 0) + Number(result.outcome === 'CHECKED_IN');
    if (counts) await this.#keep({ counts: { ...counts, checkedIn } });
    await this.#tell();
  }

  async #copy() {
    try {
      const [event, counts] = [await this.#calls.readEvent(), await this.#calls.readCounts()];
      await this.#keep({ event, counts });
      while (await this.#lock(() => this.#copyPage()));
    } catch (error) {
      if (isEventGone(error)) await this.#endEvent();
      else if (error.reason === 'CURSOR_EXPIRED') await this.#store.forgetList();
      else throw error;
    }
  }

  /** Copies a page of the list, or of its changes once the list is complete. Returns whether there are more. */
  async #copyPage() {
    const { pageToken = '', cursor = '' } = (await this.#store.readValue('position')) ?? {};
    const page = await this.#calls.readAttendees({ pageToken, cursor });
    const { attendees, nextPageToken } = page;
    await this.#store.keepAttendees(attendees, nextPageToken ? { pageToken: nextPageToken } : { cursor: page.cursor });
    this.isCopied = !nextPageToken;
    return cursor ? attendees.length > 0 : true;
  }

  /** Nobody can record a scan of a deleted event, and nobody needs its list any more. */
  async #endEvent() {
    for (const scan of await this.#store.readWaiting()) {
      await this.#giveUp(scan, 'EVENT_NOT_FOUND');
    }
    await this.#store.forgetList();
    await this.#keep({ event: { ...this.event, isDeleted: true } });
  }

  async #keep(values) {
    Object.assign(this, values);
    for (const [name, value] of Object.entries(values)) await this.#store.keepValue(name, value);
  }

  #succeed() {
    this.#failures = 0;
    this.isOnline = true;
    this.refusal = undefined;
    this.problem = undefined;
    this.#syncIn(PAUSE_MS);
  }

  /** Plans the next try, whatever has failed: nobody reloads a page at a door. */
  #fail(error) {
    this.#failures++;
    if (error instanceof CallError) {
      this.isOnline = false;
      this.problem = undefined;
      this.refusal = error.status === 401 || error.status === 403 ? error.message : undefined;
    } else {
      this.problem = error.message || error.name;
      console.error(error);
    }
    // Devices that have lost the same network do not come back all at once.
    const pauseMs = Math.min(MAX_PAUSE_MS, 1_000 * 2 ** this.#failures) * (0.5 + Math.random() / 2);
    this.#syncIn(Math.max(pauseMs, error.retryAfterMs ?? 0));
    void this.#tell();
  }

  #syncIn(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.sync(), ms);
  }

  async #tell() {
    try {
      this.waiting = await this.#store.countWaiting();
      this.admitted = (await this.#readAdmitted()).length;
    } catch (error) {
      this.problem = error.message;
    }
    this.dispatchEvent(new Event('change'));
  }

  /** Returns the scans that have let somebody in and are not uploaded. */
  async #readAdmitted() {
    return (await this.#store.readWaiting()).filter(({ alreadyAdmitted }) => alreadyAdmitted);
  }

  /** The time of the server: Usher refuses scans of a clock that is days behind, or minutes ahead. */
  #now = () => new Date(Date.now() + this.#clockOffsetMs);

  #setClock(serverMs) {
    const offsetMs = serverMs - Date.now();
    if (!(Math.abs(offsetMs - this.#clockOffsetMs) > CLOCK_STEP_MS)) return;
    this.#clockOffsetMs = offsetMs;
    this.#store.keepValue('clockOffsetMs', offsetMs).catch((error) => this.#fail(error));
  }
}

const isEventGone = ({ reason }) => reason === 'EVENT_NOT_FOUND';
const isMalformed = ({ status, reason }) => reason === 'VALIDATION_FAILED' || status === 413;

/** A scan that the copy has refused is not uploaded: it would check in somebody whom the door has sent away. */
function withDecision(scan, { letsIn, reason, since }) {
  if (letsIn) return { ...scan, alreadyAdmitted: true, waiting: 1 };
  return { ...scan, alreadyAdmitted: false, result: { outcome: 'REFUSED', reason, since } };
}

function toRequest({ scanId, attendeeId, occurredAt, gate, alreadyAdmitted }) {
  return { scanId, attendeeId, occurredAt, ...(gate && { gate }), alreadyAdmitted };
}

/** What the result of a scan means for the door. */
export function toVerdict({ outcome, reason, checkIn, since }) {
  if (outcome === 'CHECKED_IN') return { letsIn: true, note: reason };
  if (outcome !== 'ALREADY_CHECKED_IN') return { letsIn: false, reason, since };
  return { letsIn: false, reason: outcome, since: checkIn.occurredAt ?? checkIn.checkedInAt, gate: checkIn.gate };
}
