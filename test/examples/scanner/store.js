/** What the device keeps in IndexedDB: the copy of the list, the scans, and single values such as the cursor. */

const DAY_MS = 24 * 60 * 60_000;
/** Usher keeps the results of scans as long. */
const KEPT_MS = 14 * DAY_MS;

export class Store {
  #name;
  #opened;

  /** Every event has a database of its own, so that scans reach the event that they were made for. */
  constructor(eventId) {
    this.#name = `scanner of ${eventId}`;
  }

  readValue = (name) => this.#run('readonly', ['values'], (values) => values.get(name));
  keepValue = (name, value) => this.#run('readwrite', ['values'], (values) => values.put(value, name));

  readAttendee = (attendeeId) => this.#run('readonly', ['attendees'], (attendees) => attendees.get(attendeeId));

  /** Stores a part of the list, and up to where it is copied. Deleted attendees go, with their names. */
  keepAttendees(changed, position) {
    return this.#run('readwrite', ['attendees', 'values'], (attendees, values) => {
      for (const { isDeleted, ...attendee } of changed) {
        if (isDeleted) attendees.delete(attendee.attendeeId);
        else attendees.put({ ...attendee, isListed: true });
      }
      values.put(position, 'position');
    });
  }

  /** Adds a scan, or stores what has become of it. Returns its number. */
  keepScan = (scan) => this.#run('readwrite', ['scans'], (scans) => scans.put(scan));

  /** Stores what has become of scans, all or nothing. Notes who is inside, also of people who are not on the list. */
  settleScans(settled, checkIn) {
    return this.#run('readwrite', ['scans', 'attendees'], (scans, attendees) => {
      for (const scan of settled) scans.put(scan);
      if (!checkIn) return;
      const { attendeeId, checkedInAt } = checkIn;
      attendees.get(attendeeId).onsuccess = ({ target: { result } }) => {
        attendees.put({ ...(result ?? { attendeeId, label: '', isListed: false }), checkedInAt });
      };
    });
  }

  readScan = (number) => this.#run('readonly', ['scans'], (scans) => scans.get(number));

  /** Returns the scans that Usher has not answered, oldest first. */
  readWaiting = (count) => this.#run('readonly', ['scans'], (scans) => scans.index('waiting').getAll(null, count));
  countWaiting = () => this.#run('readonly', ['scans'], (scans) => scans.index('waiting').count());

  /** Returns the last scans, newest first. */
  async readLastScans(count) {
    const found = [];
    await this.#run('readonly', ['scans'], (scans) => {
      scans.openCursor(null, 'prev').onsuccess = ({ target: { result } }) => {
        if (!result || found.length === count) return;
        found.push(result.value);
        result.continue();
      };
    });
    return found;
  }

  /** Removes old scans that do not wait any more. */
  async removeOldScans(now) {
    const oldest = new Date(now - KEPT_MS).toISOString();
    await this.#run('readwrite', ['scans'], (scans) => {
      scans.openCursor().onsuccess = ({ target: { result } }) => {
        if (!result || result.value.occurredAt >= oldest) return;
        if (!result.value.waiting) result.delete();
        result.continue();
      };
    });
  }

  /** Removes the list with its names. */
  forgetList() {
    return this.#run('readwrite', ['attendees', 'values'], (attendees, values) => {
      attendees.clear();
      values.delete('position');
    });
  }

  forgetAll() {
    return this.#run('readwrite', ['attendees', 'values', 'scans'], (...stores) => {
      for (const each of stores) each.clear();
    });
  }

  /**
   * Runs `work` in a transaction. Resolves once it is stored, with the result of the request that `work` returns. After
   * a failure the next call opens the database anew: browsers close it when their storage fails, and say so nowhere.
   */
  async #run(mode, names, work) {
    try {
      this.#opened ??= openDatabase(this.#name);
      return await runIn(await this.#opened, mode, names, work);
    } catch (error) {
      const failed = this.#opened;
      this.#opened = undefined;
      void failed?.then((database) => database.close()).catch(() => {});
      throw error;
    }
  }
}

function runIn(database, mode, names, work) {
  return new Promise((resolve, reject) => {
    // A phone that dies must not lose what its screen has said. By default, browsers write later.
    const transaction = database.transaction(names, mode, { durability: 'strict' });
    transaction.onabort = () => reject(transaction.error ?? new Error('The browser has ended the transaction'));
    const request = work(...names.map((name) => transaction.objectStore(name)));
    transaction.oncomplete = () => resolve(request?.result);
  });
}

function openDatabase(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      const database = request.result;
      database.createObjectStore('values');
      database.createObjectStore('attendees', { keyPath: 'attendeeId' });
      const scans = database.createObjectStore('scans', { keyPath: 'number', autoIncrement: true });
      // Only scans that wait have this property.
      scans.createIndex('waiting', 'waiting');
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
