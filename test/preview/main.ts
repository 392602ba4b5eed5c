/** Writes every page and e-mail as HTML files, per language and theme, with an index: `npm run preview`. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { html, htmlDocument } from '../../src/http/html.ts';
import { renderDocument } from '../../src/login-page/pages/document.ts';
import { toHtmlText } from '../../src/mail/mail-text.ts';
import { Progress } from '../../src/progress.ts';
import { LANGUAGES, type Language } from '../../src/texts/texts.ts';
import { MAILS } from './mails.ts';
import { SCREENS } from './screens.ts';

const DIRECTORY = '.preview';
const THEMES = ['light', 'dark'] as const;

/** Pages and e-mails, as documents. */
const DOCUMENTS: readonly { readonly name: string; readonly render: (language: Language) => string }[] = [
  ...SCREENS.map(({ name, render }) => ({
    name,
    render: (language: Language) => renderDocument(render(language), 'preview'),
  })),
  ...MAILS.map(({ name, create }) => ({ name, render: (language: Language) => toHtmlText(create(language)) })),
];

await rm(DIRECTORY, { recursive: true, force: true });
using progress = new Progress((step) => process.stderr.write(`${step}\n`));
for (const [done, language] of [...LANGUAGES.values()].entries()) {
  progress.report(`Writing the pages of ${LANGUAGES.size} languages: ${done} done, now ${language.name}`);
  await writeDocuments(language);
}
progress.end();
await writeFile(join(DIRECTORY, 'index.html'), renderIndex());
process.stdout.write(`Open ${DIRECTORY}/index.html\n`);

async function writeDocuments(language: Language): Promise<void> {
  for (const theme of THEMES) {
    await mkdir(join(DIRECTORY, language.tag, theme), { recursive: true });
    await Promise.all(
      DOCUMENTS.map(({ name, render }) =>
        writeFile(join(DIRECTORY, pathOf(name, language, theme)), inTheme(render(language), theme)),
      ),
    );
  }
}

/** Pages have a class for that. E-mails ask for the theme of the system. */
function inTheme(document: string, theme: (typeof THEMES)[number]): string {
  const condition = theme === 'dark' ? 'all' : 'not all';
  return document.replace('<html', `<html class="${theme}"`).replace('(prefers-color-scheme: dark)', condition);
}

function renderIndex(): string {
  const rows = [...LANGUAGES.values()].map(
    (language) => html`<tr><th scope="row" lang="${language.tag}">${language.name}</th>
${DOCUMENTS.map(({ name }) => html`<td>${THEMES.map((theme) => html`<a href="${pathOf(name, language, theme)}">${theme}</a> `)}</td>`)}</tr>
`,
  );
  const heads = DOCUMENTS.map(({ name }) => html`<th scope="col">${name}</th>`);
  return htmlDocument('Preview', html``, html`<table><tr><td></td>${heads}</tr>${rows}</table>`);
}

function pathOf(name: string, { tag }: Language, theme: (typeof THEMES)[number]): string {
  return `${tag}/${theme}/${name}.html`;
}
