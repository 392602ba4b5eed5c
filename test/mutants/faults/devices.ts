import type { Fault } from '../fault.ts';

const device = 'test/modules/oidc/device.test.ts';

/** Devices without a browser. */
export const DEVICE_FAULTS: readonly Fault[] = [
  {
    what: 'Devices sign in to applications that let none in',
    file: 'src/modules/oidc/endpoints/device-endpoint.ts',
    find: 'if (!application.deviceLogin)',
    replace: 'if (!application.openIdConnect)',
    test: device,
    title: /gets nothing unless its application lets devices in/,
  },
  {
    what: 'A device gets tokens before the person has decided',
    file: 'src/modules/oidc/domain/poll-device-login.ts',
    find: 'redeemed_at = case when i.approved and',
    replace: 'redeemed_at = case when i.completed_at is not null and',
    test: device,
    title: /takes a decision from the browser alone|needs a button also after a sign-in that the browser remembers/,
  },
  {
    what: 'A device code works twice',
    file: 'src/modules/oidc/domain/poll-device-login.ts',
    find: `      and redeemed_at is null
    for update
  ), polled as (
    update login_intents i
    set polled_at`,
    replace: `    for update
  ), polled as (
    update login_intents i
    set redirect_uri = '', polled_at`,
    test: device,
    title: /gets tokens of the person who lets it in, once/,
  },
  {
    what: 'A device code works for any application',
    file: 'src/modules/oidc/domain/poll-device-login.ts',
    find: `where application_id = \${p.uuid('applicationId')} and id = \${p.uuid('loginIntentId')} and response_mode = 'device'`,
    replace: `where id = \${p.uuid('loginIntentId')} and response_mode = 'device'`,
    test: device,
    title: /gets nothing for the code of another application/,
  },
  {
    what: 'A device code works for ever',
    file: 'src/modules/oidc/domain/poll-device-login.ts',
    find: `i.approved and i.expires_at > \${p.instant('now')}`,
    replace: 'i.approved',
    test: device,
    title: /has ten minutes/,
  },
  {
    what: 'A device may ask as often as it likes',
    file: 'src/modules/oidc/domain/poll-device-login.ts',
    find: 'case when known.is_too_fast then 5 else 0 end',
    replace: '0',
    test: device,
    title: /waits five seconds longer each time/,
  },
  {
    what: 'A denied device asks on',
    file: 'src/modules/oidc/domain/poll-device-login.ts',
    find: 'if (approved === false) throw',
    replace: 'if (approved === false && isExpired) throw',
    test: device,
    title: /learns that the person has denied it/,
  },
  {
    what: 'A sign-out in the browser ends the device',
    file: 'src/modules/oidc/domain/poll-device-login.ts',
    find: 'const origin = { originAddress: null, originUserAgent: null, originBrowser: null };',
    replace: 'const origin = { sid: sidOf(application.id, login.userId, login.originBrowser ?? Buffer.alloc(32)) };',
    test: device,
    title: /stays signed in when the person signs out in the browser/,
  },
  {
    what: 'The last decision about a device counts',
    file: 'src/modules/oidc/domain/decide-device-login.ts',
    find: 'and approved is null and redeemed_at is null',
    replace: 'and redeemed_at is null',
    test: 'test/robustness/device-login.test.ts',
    title: /allowed and denied at once/,
  },
  {
    what: 'A device is let in without a sign-in',
    file: 'src/modules/oidc/pages/device.ts',
    find: "const approved = name === 'code' && parameters",
    replace: 'const approved = parameters',
    test: device,
    title: /lets nobody in by the page before the login/,
  },
  {
    what: 'Any browser lets a device in as the person who has signed in',
    file: 'src/modules/oidc/pages/device.ts',
    find: 'if (!isOwn || !(await',
    replace: 'if (!(await',
    test: device,
    title: /takes a decision from the browser alone that has signed in/,
  },
  {
    what: 'Any page can let a device in',
    file: 'src/modules/oidc/pages/device.ts',
    find: `if (isOwnForm(browser, parameters.get('token') ?? '')) return;`,
    replace: `if (parameters.get('token') !== '') return;`,
    test: device,
    title: /takes a decision from the browser alone that has signed in/,
  },
  {
    what: 'The page before the login knows as much as that after it',
    file: 'src/modules/oidc/domain/token-keys.ts',
    find: "deviceApproval: sealKeysOf('oidc device approval')",
    replace: "deviceApproval: sealKeysOf('oidc device request')",
    test: device,
    title: /takes a decision from the browser alone that has signed in/,
  },
  {
    what: 'A person who has signed out lets a device in',
    file: 'src/modules/oidc/pages/device.ts',
    find: '!(await isSignInLive(call, { ...login, browserDigest, completedAt, userId }))',
    replace: 'false',
    test: device,
    title: /asks no more once the person has signed out/,
  },
  {
    what: 'A network guesses any number of user codes',
    file: 'src/modules/oidc/domain/find-user-code.ts',
    find: "return 'too many';",
    replace: 'break;',
    test: device,
    title: /are ten per network, and then one every six minutes/,
  },
  {
    what: 'A right user code takes a permit',
    file: 'src/modules/oidc/domain/find-user-code.ts',
    find: 'await returnPermit(call, bucket, limit);',
    replace: '{}',
    test: device,
    title: /are ten per network, and then one every six minutes/,
  },
  {
    what: 'The code of a login that has ended is right',
    file: 'src/modules/oidc/domain/find-user-code.ts',
    find: `and expires_at > \${p.instant('now')} and approved is null and redeemed_at is null`,
    replace: `and \${p.instant('now')} is not null`,
    test: device,
    title: /are those of logins that have ended, too/,
  },
  {
    what: 'An application has any number of devices that wait',
    file: 'src/modules/oidc/domain/begin-device-login.ts',
    find: 'from present where not is_full',
    replace: 'from present',
    test: device,
    title: /may have 1,000 devices that wait/,
  },
  {
    what: 'The page does not say that the device is elsewhere',
    file: 'src/modules/oidc/pages/render-device.ts',
    find: 'networkOf(address) === startedFrom',
    replace: "networkOf(address) !== ''",
    test: device,
    title: /says who has started it, when, and from where/,
  },
];
