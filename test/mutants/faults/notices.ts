import type { Fault } from '../fault.ts';

const notices = 'test/login-page/notices.test.ts';
const mute = 'test/login-page/mute.test.ts';
const waits = 'test/database/waits.test.ts';

/** E-mails about changes of an account, links that mute an address, and how often Usher asks for the primary. */
export const NOTICE_FAULTS: readonly Fault[] = [
  {
    what: 'A notice is lost when its first attempt fails',
    file: 'src/mail/notice-sender.ts',
    find: 'if (!isLast) return await postponeNotice',
    replace: 'if (!isLast) await postponeNotice',
    test: notices,
    title: /arrives although the replica that made the change has ended/,
  },
  {
    what: 'A notice is given up because the mail server refuses the login of Usher',
    file: 'src/mail/notice-sender.ts',
    find: 'error.isPermanent && !error.isOfServer',
    replace: 'error.isPermanent',
    test: notices,
    title: /a mail server that fails gets the notice again/,
  },
  {
    what: 'A notice promises a way back without the link that leads there',
    file: 'src/mail/compose-notice.ts',
    find: "createNotice(url ? kind : 'addressReplaced', {",
    replace: 'createNotice(kind, {',
    test: 'test/mail/compose-notice.test.ts',
    title: /promises no way back/,
  },
  {
    what: 'Every replica sends a notice',
    file: 'src/domain/notices/due-notices.ts',
    find: 'return claimed !== undefined;',
    replace: 'return true;',
    test: notices,
    title: /send each once/,
  },
  {
    what: 'The notice of a change goes to the new address',
    file: 'src/domain/users/update-user.ts',
    find: 'recipient: sql`wanted.former_email`',
    replace: 'recipient: sql`wanted.email`',
    test: notices,
    title: /changes the address causes a notice to the former address/,
  },
  {
    what: 'A muted address gets the codes for a change of address that strangers ask for',
    file: 'src/modules/account/domain/change-address.ts',
    find: ' || hasMuted',
    replace: '',
    test: mute,
    title: /stop with the others/,
  },
  {
    what: 'A link mutes an address for ever',
    file: 'src/domain/login/muted-addresses.ts',
    find: 'return isOurs && isLive ?',
    replace: 'return isOurs ?',
    test: mute,
    title: /the link works for 7 days/,
  },
  {
    what: 'Connections that have failed open again all at once',
    file: 'src/database/pipelined-connection.ts',
    find: ', this.#nextAt + RECONNECT_INTERVAL_MS);',
    replace: ');',
    test: waits,
    title: /open again 0\.4 s later/,
  },
];
