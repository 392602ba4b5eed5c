/** The page behind the link in an e-mail that stops such e-mails for a day. The page belongs to no login. */
import { endMute, findMute, muteAddress } from '../domain/login/muted-addresses.ts';
import { pickFields } from './login-context.ts';
import { type LoginRequest, loginPathOf } from './login-request.ts';
import { renderMute } from './pages/mute.ts';
import { sendPage, sendRedirect } from './responses.ts';

/** Shows a button. To open the link changes nothing, because scanners of e-mails open links. */
export async function showMute(request: LoginRequest): Promise<void> {
  const { call, parts } = request;
  const until = await findMute(call, parts.codes.keys, pickFields(request, 't').t);
  sendMutePage(request, until);
}

export function mute(request: LoginRequest): Promise<void> {
  return change(request, muteAddress);
}

export function unmute(request: LoginRequest): Promise<void> {
  return change(request, endMute);
}

async function change(request: LoginRequest, verb: typeof muteAddress | typeof endMute): Promise<void> {
  const { context, call, languages, parts } = request;
  const { t } = pickFields(request, 't');
  const isKnown = await verb(call, parts.codes.keys, t);
  const query = new URLSearchParams({
    t,
    ...(languages.chosen && { lang: languages.chosen }),
  });
  if (isKnown) sendRedirect(context, `${pathOf(request)}?${query}`);
  else sendMutePage(request, undefined);
}

function sendMutePage(request: LoginRequest, until: Date | null | undefined): void {
  const { context, call, browser, languages, place } = request;
  const view = {
    language: languages.languageFor(),
    place,
    path: pathOf(request),
    linkToken: pickFields(request, 't').t,
    formToken: browser.formToken,
    now: call.now,
    until,
  };
  sendPage(context, until === undefined ? 404 : 200, renderMute(view));
}

function pathOf({ parts }: LoginRequest): string {
  return `${loginPathOf(parts)}/mute`;
}
