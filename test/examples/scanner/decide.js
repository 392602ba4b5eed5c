/**
 * Decides a scan from the copy, in the order of Usher's own rules. Returns whether to let the attendee in, the reason if
 * not, and since when they are inside.
 *
 * `waiting` is an earlier scan that has let the attendee in and is not uploaded; `admitted` counts all of these.
 */
export function decide({ attendee, waiting, ...copy }) {
  const since = attendee?.checkedInAt ?? waiting?.occurredAt;
  if (since) return { letsIn: false, reason: 'ALREADY_CHECKED_IN', since };
  const reason = refusalOf({ attendee, ...copy });
  return { letsIn: !reason, reason };
}

function refusalOf({ event, counts, isCopied, attendee, admitted, now }) {
  if (!event) return 'NO_COPY';
  if (event.isDeleted) return 'EVENT_NOT_FOUND';
  if (event.startsAt && now < new Date(event.startsAt)) return 'EVENT_NOT_STARTED';
  if (event.endsAt && now >= new Date(event.endsAt)) return 'EVENT_ENDED';
  if (event.admission === 'LISTED' && !attendee?.isListed) return isCopied ? 'ATTENDEE_NOT_LISTED' : 'NO_COPY';
  if (attendee?.isBlocked) return 'ATTENDEE_BLOCKED';
  // Devices without a network do not know of each other: together they may let in more people than there are places.
  if (event.capacity && (counts?.checkedIn ?? 0) + admitted >= event.capacity) return 'EVENT_FULL';
  return undefined;
}
