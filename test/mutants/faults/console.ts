import type { Fault } from '../fault.ts';

const attacks = 'test/modules/console/attacks.test.ts';
const doors = 'test/modules/console/doors.test.ts';
const edits = 'test/modules/console/edits.test.ts';
const forms = 'test/modules/console/forms.test.ts';
const groups = 'test/modules/console/groups.test.ts';
const newApplication = 'test/modules/console/new-application.test.ts';
const routes = 'test/modules/console/routes.test.ts';
const sentForms = 'test/modules/console/sent-forms.test.ts';
const signIn = 'test/modules/console/sign-in.test.ts';

const MAY_USE = 'if (!mayUse(found, signedIn)) return sendRefusal(asOperator, route.role);';
const IS_FRESH = `if (route.isSensitive && !signedIn.isFresh) {
    return askToSignIn(asOperator, { to: pageOf(request, route), fresh: '' });
  }`;
const REPLY = 'const reply = () => run(asOperator, route);';

/** Returns a fault of the handler that runs a check only where a form has no kept answer. */
function checkLate(check: string): Pick<Fault, 'file' | 'find' | 'replace'> {
  const others = [MAY_USE, IS_FRESH].filter((each) => each !== check).join('\n  ');
  const late = `const reply = async () => {
    ${check.replace(/return (.*);/, "return $1 ?? 'sent';")}
    return run(asOperator, route);
  };`;
  return {
    file: 'src/modules/console/console-handler.ts',
    find: `${MAY_USE}\n  ${IS_FRESH}\n  ${REPLY}`,
    replace: `${others}\n  ${late}`,
  };
}

/** Who may do what in the console, and who sees what it shows. */
export const CONSOLE_FAULTS: readonly Fault[] = [
  {
    what: 'A page that was open when a group lost its access gives it back',
    file: 'src/modules/console/pages/application-groups.ts',
    find: "form.get(meaning) === 'true' : undefined",
    replace: "form.get(meaning) === 'true' : true",
    test: groups,
    title: /each of its two meanings changes alone/,
  },
  {
    what: 'Saving a group after a refused member clears its display name',
    file: 'src/modules/console/pages/group.ts',
    find: 'const own = isOfMember(request) ? withoutProblem(request) : request;',
    replace: 'const own = request;',
    test: groups,
    title: /the form of the group keeps its values/,
  },
  {
    what: 'The line for a page without a server has a key, which everybody could read there',
    file: 'src/modules/console/parts/quick-start.ts',
    find: "kind === 'single-page' ? ` export ${values}` : ",
    replace: 'kind.length > 0 && ',
    test: newApplication,
    title: /its line and its commands have no key/,
  },
  {
    what: 'An application that is created in the console needs no PKCE',
    file: 'src/modules/console/pages/application-kinds.ts',
    find: 'requirePkce: true',
    replace: 'requirePkce: false',
    test: newApplication,
    title: /a product gets the settings/,
  },
  {
    what: 'An operator who gives no owner cannot create a webhook',
    file: 'src/modules/console/pages/webhooks.ts',
    find: 'if (id === operator.userId)',
    replace: 'if (id === text)',
    test: forms,
    title: /belongs to the operator/,
  },
  {
    what: "An operator gets the answer to another operator's form, with a new key in it",
    file: 'src/modules/console/sent-forms.ts',
    find: 'JSON.stringify([operator.userId, context.path,',
    replace: 'JSON.stringify([context.path,',
    test: sentForms,
    title: /is for the operator who sent it, and not for another admin/,
  },
  {
    what: 'An operator without the role gets the answer to a form that was sent with it',
    ...checkLate(MAY_USE),
    test: sentForms,
    title: /is not for the operator who has lost the role meanwhile/,
  },
  {
    what: 'A browser without a recent sign-in gets the answer to the form of another one',
    ...checkLate(IS_FRESH),
    test: sentForms,
    title: /is not for another browser of the operator, without a recent sign-in/,
  },
  {
    what: 'A new key is shown for a day to whoever sends the form again',
    file: 'src/modules/console/sent-forms.ts',
    find: 'const KEPT_MS = 60_000;',
    replace: 'const KEPT_MS = 24 * 60 * 60_000;',
    test: sentForms,
    title: /is given again for a minute, and never later/,
  },
  {
    what: 'A form that failed fails for as long as its answer is kept',
    file: 'src/modules/console/sent-forms.ts',
    find: 'reply.catch(() => this.#replies.delete(sending));',
    replace: 'reply.catch(() => undefined);',
    test: sentForms,
    title: /that Postgres could not take is done when it is sent again/,
  },
  {
    what: 'Other values in a form get the answer to the first ones',
    file: 'src/modules/console/sent-forms.ts',
    find: 'context.path, form.toString()]',
    replace: 'context.path, form.get(SENDING_FIELD)]',
    test: sentForms,
    title: /a form with other values is another form/,
  },
  {
    what: 'A page on another port of the host sends forms',
    file: 'src/modules/console/own-origin.ts',
    find: "return site === 'same-origin';",
    replace: "return site !== 'cross-site';",
    test: attacks,
    title: /a page on another port of this host sends no form/,
  },
  {
    what: 'A form needs no right Origin where the browser sends no Sec-Fetch-Site',
    file: 'src/modules/console/own-origin.ts',
    find: "return headerOf(context, 'origin') === consoleUrl;",
    replace: "return headerOf(context, 'origin') !== 'null';",
    test: routes,
    title: /whose browser sends no Sec-Fetch-Site needs the right Origin/,
  },
  {
    what: 'Another site loads pages of the console into its own',
    file: 'src/modules/console/own-origin.ts',
    find: "['cross-site', 'same-site'].includes(",
    replace: "['same-site'].includes(",
    test: routes,
    title: /cannot load .* into its own page, but link to it/,
  },
  {
    what: 'The recent sign-in of another operator is enough for sensitive actions',
    file: 'src/modules/console/cookies.ts',
    find: 'signedInUserId === userId && now',
    replace: 'now',
    test: attacks,
    title: /of a recent sign-in of another operator make no sign-in recent/,
  },
  {
    what: 'An operator makes changes in a session that another replica has just ended',
    file: 'src/modules/console/signed-in-operator.ts',
    find: 'POST: 0 }',
    replace: 'POST: 5_000 }',
    test: signIn,
    title: /that was ended elsewhere makes no change/,
  },
  {
    what: 'An operator who needs a passkey gets in with a code',
    file: 'src/modules/console/signed-in-operator.ts',
    find: 'operator && (!operator.needsPasskey || assurance >= PHISHING_RESISTANT)',
    replace: 'operator',
    test: attacks,
    title: /who needs a passkey gets in with nothing else/,
  },
  {
    what: 'A team uses the pages of every application',
    file: 'src/modules/console/route.ts',
    find: 'return params.a !== undefined && applicationIds.includes(params.a.toLowerCase());',
    replace: 'return params.a !== undefined;',
    test: routes,
    title: /does in its application what support does, and nothing elsewhere/,
  },
  {
    what: 'An admin changes the application that is the console itself',
    file: 'src/modules/console/console-request.ts',
    find: "if (OWN_APPLICATION_IDS.some((own) => own === id)) throw new ServiceError('APPLICATION_NOT_FOUND');",
    replace: '',
    test: routes,
    title: /the applications of Usher itself have no pages/,
  },
  {
    what: 'The link of the server signs in whoever uses it again',
    file: 'src/modules/console/sign-in.ts',
    find: 'const LINK_USES: RateLimit = { burst: 1,',
    replace: 'const LINK_USES: RateLimit = { burst: 10,',
    test: signIn,
    title: /a link of the server works once$/,
  },
  {
    what: 'The answer of another issuer signs an operator in',
    file: 'src/modules/console/sign-in.ts',
    find: "if (returnTo === undefined || !issuers.includes(query.get('iss') ?? '')) {",
    replace: 'if (returnTo === undefined) {',
    test: signIn,
    title: /signs nobody in with the answer of another issuer/,
  },
  {
    what: 'The sign-in leads to any site',
    file: 'src/modules/console/sign-in.ts',
    find: "const path = toOwnPath(to, consoleUrl) ?? '/';",
    replace: "const path = to.startsWith('/') ? to : '/';",
    test: signIn,
    title: /leads to the console, although the page to return to is/,
  },
  {
    what: 'A sign-out leaves the session of the other browsers',
    file: 'src/modules/console/sign-in.ts',
    find: 'await revokeSession({ ...call, application }, parts, found);',
    replace: '',
    test: signIn,
    title: /ends in every browser when the operator signs out/,
  },
  {
    what: 'A key is revoked without its name',
    file: 'src/modules/console/pages/keys.ts',
    find: 'requireName(request, nameOf(key));\n    return',
    replace: 'return',
    test: forms,
    title: /what asks for a name does nothing with another one/,
  },
  {
    what: 'A viewer sees the payloads of webhooks',
    file: 'src/modules/console/pages/delivery.ts',
    find: '${isSupport ? renderContent(webhook, delivery)',
    replace: '${delivery ? renderContent(webhook, delivery)',
    test: forms,
    title: /whose payload and headers support sees, and a viewer does not/,
  },
  {
    what: 'A form overwrites what another operator has saved meanwhile',
    file: 'src/modules/console/parts/action.ts',
    find: 'await readFields(request), ifVersion)',
    replace: 'await readFields(request))',
    test: edits,
    title: /that was rendered before another change is refused/,
  },
  {
    what: 'A paste is stored before it is shown',
    file: 'src/modules/console/pages/import-attendees.ts',
    find: '!isConfirmed || ',
    replace: '',
    test: doors,
    title: /^pasted lines are checked first/,
  },
  {
    what: 'A guest who is called as a column is lost when a checked paste is confirmed',
    file: 'src/modules/console/pages/import-attendees.ts',
    find: '{ mayHaveHeading: !isConfirmed }',
    replace: '{}',
    test: doors,
    title: /^the check names the heading that it leaves out/,
  },
  {
    what: 'Who is blocked loses the name',
    file: 'src/modules/console/pages/attendees.ts',
    find: 'label: attendee.label, isBlocked',
    replace: 'isBlocked',
    test: doors,
    title: /^an attendee is found, blocked with the name kept/,
  },
  {
    what: 'Refusals are only those who stayed outside',
    file: 'src/modules/console/statements/list-refusals.ts',
    find: 'and reason is not null',
    replace: "and outcome = 'REFUSED'",
    test: doors,
    title: /^who was refused at the doors is listed/,
  },
  {
    what: 'A search finds attendees who were removed',
    file: 'src/modules/console/statements/find-attendees.ts',
    find: ' and not is_deleted',
    replace: '',
    test: doors,
    title: /^an attendee is found, blocked with the name kept/,
  },
];
