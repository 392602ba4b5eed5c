import type { Fault } from '../fault.ts';

const at = { test: 'test/login-page/new-device.test.ts' };

/** The notice of a sign-in in a new place. */
export const NEW_DEVICE_FAULTS: readonly Fault[] = [
  {
    ...at,
    what: 'Every sign-in by wallet sends an e-mail',
    file: 'src/domain/login/note-sign-in.ts',
    find: "familiarity !== 'stranger' || !call.notices",
    replace: '!call.notices',
    title: /not again from the same browser or network/,
  },
  {
    ...at,
    what: 'A sign-in in a new place sends no e-mail',
    file: 'src/modules/wallets/domain/redeem-wallet-signature.ts',
    find: 'await noteSignIn(',
    replace: 'void noteSignIn.call; void (',
    title: /goes out once for a new place/,
  },
  {
    ...at,
    what: 'Each new place of a day sends an e-mail',
    file: 'src/domain/login/note-sign-in.ts',
    find: 'if (!(await takePermit(',
    replace: 'if (false && !(await takePermit(',
    title: /once a day at most/,
  },
  {
    ...at,
    what: 'A scanner that opens the link ends every sign-in',
    file: 'src/modules/new-device/sign-ins-actions.ts',
    find: "form: 'choice', run: showButton }",
    replace: "form: 'choice', run: endAll }",
    title: /changes nothing when it is opened/,
  },
  {
    ...at,
    what: 'Who signed in in a new place keeps a passkey',
    file: 'src/modules/new-device/sign-ins-actions.ts',
    find: 'await removeAdded(',
    replace: 'void removeAdded.call; void (',
    title: /also removes how somebody could sign in again/,
  },
];
