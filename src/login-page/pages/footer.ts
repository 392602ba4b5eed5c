import { type Html, html } from '../../http/html.ts';
import { LANGUAGES, type Language } from '../../texts/texts.ts';
import { type PageQuery, renderQuery } from '../page-place.ts';
import { renderLinks } from './branding.ts';
import type { PageView } from './view.ts';

/** Renders the choice of a language, and links. */
export function renderFooter(view: PageView, links?: Html): Html {
  const { language, place } = view;
  return html`<footer>
${place.query && renderChoice(language, place.path, place.query)}${links}${renderLinks(view)}</footer>`;
}

function renderChoice(language: Language, path: string, query: PageQuery): Html {
  return html`<form class="language" method="get" action="${path}">
${renderQuery(query)}<label class="hide" for="lang">${language.text('footer.language')}</label>
<select id="lang" name="lang">
${[...LANGUAGES.values()].map((option) => renderOption(option, option.tag === language.tag))}</select>
<button class="quiet">${language.text('footer.language.submit')}</button>
</form>
`;
}

/** Renders the name of each language in that language, so that people find theirs. */
function renderOption({ tag, name, direction }: Language, isSelected: boolean): Html {
  return html`<option value="${tag}" lang="${tag}"${direction === 'rtl' && html` dir="rtl"`}${isSelected && html` selected`}>${name}</option>
`;
}
