/** Calls the server of this page, which passes them on to Usher. */

const TIMEOUT_MS = 15_000;
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** A call without a usable answer. `status` is undefined if there was none at all. */
export class CallError extends Error {
  constructor({ status, reason, message = 'No answer', retryAfterMs = 0 }) {
    super(message);
    Object.assign(this, { status, reason, retryAfterMs });
  }
}

export class Calls {
  #path;
  #onDate;

  /** @param onDate gets the time of the server in milliseconds, with each answer of the server itself */
  constructor(eventId, onDate) {
    this.#path = `/api/events/${encodeURIComponent(eventId)}`;
    this.#onDate = onDate;
  }

  readEvent = () => this.#send('');
  readCounts = () => this.#send('/counts');
  readAttendees = (query) => this.#send(`/attendees?${new URLSearchParams(query)}`);
  sendScans = (scans) => this.#send('/scans', { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ scans }) });

  /** Returns `data` of the answer. @throws CallError */
  async #send(path, options = {}) {
    const reply = await fetch(this.#path + path, { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => {
      throw new CallError({});
    });
    // A proxy on the way may answer with a page of its own, and by a clock of its own.
    const body = await reply.json().catch(() => ({}));
    if (body.data || body.reason) this.#onDate(Date.parse(reply.headers.get('date')));
    if (reply.ok && body.data) return body.data;
    const retryAfterMs = 1_000 * Number(reply.headers.get('retry-after') ?? 0) || 0;
    throw new CallError({ status: reply.status, reason: body.reason, message: body.message, retryAfterMs });
  }
}

/** Signs this device in. Returns whether the code is right. */
export async function signIn(code) {
  const reply = await fetch('/sign-in', { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ code }) });
  return reply.ok;
}
