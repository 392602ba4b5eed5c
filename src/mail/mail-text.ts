/**
 * The HTML of an e-mail: tables with inline styles and `bgcolor`, because Outlook renders HTML as Word does. It has no
 * pure black or white, which Gmail and Outlook would invert, and no picture, which mail programs block.
 */
import { Html, html } from '../http/html.ts';
import type { Language } from '../texts/texts.ts';
import type { Mail, MailLink, MailText } from './mail.ts';

/** The accent colour of Usher's pages. */
const DEFAULT_ACCENT = { light: '#0f5e5a', dark: '#86d3c8' };
const FONT = new Html(`-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif`);
const MONOSPACE = new Html(`Menlo,Consolas,'Liberation Mono',monospace`);
const TABLE = new Html('role="presentation" cellpadding="0" cellspacing="0" border="0"');

export function toHtmlText(mail: Mail): string {
  const { language, code, heading, paragraphs, action, notes, link, application } = mail;
  const { tag, direction } = language;
  const accent = toAccent(application.accentColor);
  const toHtml = (text: MailText) => renderText(mail, text);
  return html`<!doctype html>
<html lang="${tag}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${toLine(language, heading)}</title>
<style>${renderStyle(accent.dark)}</style>
</head>
<body class="ground" bgcolor="#f8f6f2" style="margin:0;padding:0;background:#f8f6f2">
<div role="main" lang="${tag}" dir="${direction}">
${code && html`<div style="display:none;max-height:0;overflow:hidden">${toHtml(code.preheader)}</div>`}
<table class="ground" ${TABLE} width="100%" bgcolor="#f8f6f2" style="background:#f8f6f2">
<tr><td align="center" style="padding:32px 12px">
<table class="sheet" ${TABLE} width="480" dir="${direction}" bgcolor="#fffefc" style="width:100%;max-width:480px;background:#fffefc;border:1px solid #e6e1d8;border-radius:12px;overflow:hidden;border-collapse:separate">
<tr><td class="bar" height="4" bgcolor="${accent.light}" style="height:4px;line-height:4px;font-size:4px;background:${accent.light}">&nbsp;</td></tr>
<tr><td class="pad" style="padding:28px 32px 0 32px">
<h1 class="ink" style="margin:0;color:#22201c;font:700 20px/28px ${FONT};overflow-wrap:anywhere">${toHtml(heading)}</h1>
</td></tr>
${code && renderCode(code.digits)}
${paragraphs.map((text) => html`<tr><td class="ink pad" style="padding:16px 32px 0 32px;color:#22201c;font:400 16px/24px ${FONT};overflow-wrap:anywhere">${toHtml(text)}</td></tr>\n`)}${action && renderAction(mail, action)}
<tr><td height="28" style="height:28px;line-height:28px;font-size:4px">&nbsp;</td></tr>
<tr><td class="soft line pad" style="padding:16px 32px 20px 32px;border-top:1px solid #e6e1d8;color:#625c53;font:400 14px/21px ${FONT};overflow-wrap:anywhere">
${notes.map((text) => html`${toHtml(text)}<br>\n`)}${link && html`<a href="${link.url}" style="color:#625c53">${toHtml(link.text)}</a>`}
</td></tr>
</table>
</td></tr>
</table>
</div>
</body>
</html>
`.text;
}

/** The code is a single text node, so that mail programs recognise it. CSS spaces the digits. */
function renderCode(digits: string): Html {
  return html`<tr><td class="pad" style="padding:16px 32px 0 32px">
<table ${TABLE} width="100%"><tr>
<td class="box ink" align="center" dir="ltr" bgcolor="#f4f1eb" style="padding:18px 8px;background:#f4f1eb;border-radius:8px;color:#22201c;font:700 32px/40px ${MONOSPACE};letter-spacing:6px">${digits}</td>
</tr></table>
</td></tr>`;
}

/** A table, because Outlook ignores the padding of links. */
function renderAction(mail: Mail, { text, url }: MailLink): Html {
  return html`<tr><td class="pad" style="padding:20px 32px 0 32px">
<table ${TABLE}><tr>
<td class="button" align="center" bgcolor="#22201c" style="background:#22201c;border-radius:8px"><a href="${url}" style="display:inline-block;padding:12px 20px;color:#fffefc;font:600 16px/24px ${FONT};text-decoration:none;overflow-wrap:anywhere">${renderText(mail, text)}</a></td>
</tr></table>
</td></tr>`;
}

function renderText({ language }: Mail, [key, values = {}]: MailText): Html {
  // Mail programs that do not support `<bdi>` ignore it.
  const isolated = Object.entries(values).map(([name, value]) => {
    // Keeps a number on one line with its unit.
    const attributes = name === 'duration' && html` style="white-space:nowrap"`;
    const bdi = html`<bdi${attributes}>${withoutControls(value)}</bdi>`;
    return [name, name === 'host' ? html`<strong>${bdi}</strong>` : bdi] as const;
  });
  return language.html(key, Object.fromEntries(isolated));
}

/** Styles for mail programs that follow the theme of the system, such as Apple Mail. Others ignore them. */
function renderStyle(darkAccent: string): Html {
  return new Html(`
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .ground { background: #161513 !important; }
  .sheet { background: #1f1d1b !important; border-color: #37332f !important; }
  .ink { color: #f1ede6 !important; }
  .soft, .soft a { color: #b3aca1 !important; }
  .box { background: #2a2725 !important; }
  .button { background: #f1ede6 !important; }
  .button a { color: #1f1d1b !important; }
  .line { border-color: #37332f !important; }
  .bar { background: ${darkAccent} !important; }
}
@media (max-width: 500px) {
  .pad { padding-left: 20px !important; padding-right: 20px !important; }
}
`);
}

/** Returns the colours of the bar for both themes. The bar is decoration, so its contrast does not matter. */
function toAccent(color?: string | null): { readonly light: string; readonly dark: string } {
  return color && /^#[0-9a-f]{6}$/i.test(color) ? { light: color, dark: lighten(color) } : DEFAULT_ACCENT;
}

/** Mixes the colour with white in equal parts. */
function lighten(color: string): string {
  const channels = [1, 3, 5].map((at) => (Number.parseInt(color.slice(at, at + 2), 16) + 255) >> 1);
  return `#${channels.map((channel) => channel.toString(16)).join('')}`;
}

/** Letters of scripts that run from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Characters that end a line or change the direction of the text around them (UAX #9). */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Returns one line of plain text: the subject, or a sentence. */
export function toLine(language: Language, [key, values]: MailText): string {
  return withoutNeedlessIsolates(language, language.text(key, values).replace(/\s+/gu, ' '));
}

export function toPlainText({ language, heading, code, paragraphs, action, notes, link }: Mail): string {
  const toText = (texts: readonly MailText[]) => texts.map((text) => toLine(language, text)).join('\n');
  // In a right-to-left text, a URL needs a line of its own to be shown from left to right.
  const separator = language.direction === 'rtl' ? ':\n' : ': ';
  const linesOf = (given?: MailLink) => (given ? [`${toLine(language, given.text)}${separator}${given.url}`] : []);
  const last = [toText(notes), ...linesOf(link)].join('\n');
  const blocks = [toText([code?.sentence ?? heading]), toText(paragraphs), ...linesOf(action), last];
  return `${blocks.join('\n\n')}\n`;
}

export function withoutControls(value: string): string {
  return value.replace(CONTROLS, ' ').trim();
}

/**
 * Removes U+2068 and U+2069 around values that have the direction of the text anyway: the characters disturb mail
 * programs that look for a code, and fonts without them show a box.
 */
function withoutNeedlessIsolates({ direction }: Language, text: string): string {
  const isSafe = (value: string) => /^\d+$/.test(value) || (direction === 'ltr' && !RIGHT_TO_LEFT.test(value));
  return text.replace(/\u2068([^\u2068\u2069]*)\u2069/g, (isolated, value) => (isSafe(value) ? value : isolated));
}
