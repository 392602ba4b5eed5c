/** The page behind the link in an e-mail that stops such e-mails for a day. The page belongs to no login. */
import { endMute, findMute, muteAddress } from '../domain/login/muted-addresses.ts';
import { type LoginRequest, loginPathOf } from './login-request.ts';
import { renderMute } from './pages/mute.ts';
import { sendPage, sendRedirect } from './responses.ts';

/** Shows a button. To open the link changes nothing, because scanners of e-mails open links. */
export async function showMute(request: LoginRequest): Promise<void> {
  const { call, parts, fields } = request;
  const until = await findMute(call, parts.codes.keys, fields.linkToken);
  sendMutePage(request, until);
}

export function mute(request: LoginRequest): Promise<void> {
  return change(request, muteAddress);
}

export function unmute(request: LoginRequest): Promise<void> {
  return change(request, endMute);
}

async function change(request: LoginRequest, verb: typeof muteAddress | typeof endMute): Promise<void> {
  const { context, call, languages, parts, fields } = request;
  const isKnown = await verb(call, parts.codes.keys, fields.linkToken);
  const query = new URLSearchParams({
    t: fields.linkToken,
    ...(languages.chosen && { lang: languages.chosen }),
  });
  if (isKnown) sendRedirect(context, `${pathOf(request)}?${query}`);
  else sendMutePage(request, undefined);
}

function sendMutePage(request: LoginRequest, until: Date | null | undefined): void {
  const { context, call, browser, languages, place, fields } = request;
  const view = {
    language: languages.languageFor(),
    place,
    path: pathOf(request),
    linkToken: fields.linkToken,
    formToken: browser.formToken,
    now: call.now,
    until,
  };
  sendPage(context, until === undefined ? 404 : 200, renderMute(view));
}

function pathOf({ parts }: LoginRequest): string {
  return `${loginPathOf(parts)}/mute`;
}
