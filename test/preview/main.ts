/** Writes every page as HTML files, per language and theme, with an index: `npm run preview`. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { html, htmlDocument } from '../../src/http/html.ts';
import { renderDocument } from '../../src/login-page/pages/document.ts';
import { LANGUAGES, type Language } from '../../src/texts/texts.ts';
import { SCREENS, type Screen } from './screens.ts';

const DIRECTORY = '.preview';
const THEMES = ['light', 'dark'] as const;

await rm(DIRECTORY, { recursive: true, force: true });
for (const language of LANGUAGES.values()) await writeScreens(language);
await writeFile(join(DIRECTORY, 'index.html'), renderIndex());
process.stdout.write(`Open ${DIRECTORY}/index.html\n`);

async function writeScreens(language: Language): Promise<void> {
  for (const theme of THEMES) {
    await mkdir(join(DIRECTORY, language.tag, theme), { recursive: true });
    await Promise.all(
      SCREENS.map((screen) => {
        const page = renderDocument(screen.render(language), 'preview');
        return writeFile(
          join(DIRECTORY, pathOf(screen, language, theme)),
          page.replace('<html', `<html class="${theme}"`),
        );
      }),
    );
  }
}

function renderIndex(): string {
  const rows = [...LANGUAGES.values()].map(
    (language) => html`<tr><th scope="row" lang="${language.tag}">${language.name}</th>
${SCREENS.map((screen) => html`<td>${THEMES.map((theme) => html`<a href="${pathOf(screen, language, theme)}">${theme}</a> `)}</td>`)}</tr>
`,
  );
  const heads = SCREENS.map(({ name }) => html`<th scope="col">${name}</th>`);
  return htmlDocument('Preview', html``, html`<table><tr><td></td>${heads}</tr>${rows}</table>`);
}

function pathOf({ name }: Screen, { tag }: Language, theme: (typeof THEMES)[number]): string {
  return `${tag}/${theme}/${name}.html`;
}
