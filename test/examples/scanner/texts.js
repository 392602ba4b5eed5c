/** What the page says of a scan. */

const REASONS = {
  ALREADY_CHECKED_IN: 'Already inside',
  ATTENDEE_BLOCKED: 'Blocked',
  ATTENDEE_NOT_LISTED: 'Not on the list',
  EVENT_ENDED: 'The event is over',
  EVENT_FULL: 'The event is full',
  EVENT_NOT_FOUND: 'The event was deleted',
  EVENT_NOT_STARTED: 'Too early',
  NO_COPY: 'The list is not on this device yet',
  NOT_STORED: 'Not stored: scan again',
  SCAN_ID_REUSED: 'Please scan again',
  SCAN_TIME_OUT_OF_RANGE: 'Scanned too long ago, or by a wrong clock',
  VALIDATION_FAILED: 'Not an attendee ID',
};

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'short' });

export const describeReason = (reason) => REASONS[reason] ?? reason;
export const describeTime = (instant) => TIME.format(new Date(instant));

/** Describes a decision: a title, and what else there is to know. */
export function describeVerdict({ letsIn, reason, note, since, gate }) {
  if (letsIn) return { title: 'Let in', details: note ? `Recorded, although: ${describeReason(note)}` : '' };
  const place = gate ? ` at ${gate}` : '';
  return { title: describeReason(reason), details: since ? `since ${describeTime(since)}${place}` : '' };
}

/** Describes what has become of a scan. */
export function describeScan({ waiting, alreadyAdmitted, result }, verdict) {
  if (waiting) return alreadyAdmitted ? 'Let in, not uploaded yet' : 'Not uploaded yet';
  if (result.outcome === 'LOST') return `Cannot be recorded: ${describeReason(result.reason)}`;
  const { title, details } = describeVerdict(verdict);
  const twice = result.outcome === 'ALREADY_CHECKED_IN' && alreadyAdmitted ? 'Let in twice: ' : '';
  return `${twice}${title} ${details}`.trim();
}
