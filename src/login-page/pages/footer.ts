import { type Html, html } from '../../http/html.ts';
import { LANGUAGES, type Language } from '../../texts/texts.ts';
import { renderLinks } from './branding.ts';
import type { PageView } from './view.ts';

/** Renders the choice of a language, and links. */
export function renderFooter(view: PageView, links?: Html): Html {
  const { language, place } = view;
  const kept = place.query.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  return html`<footer>
<form class="language" method="get" action="${place.path}">
${kept}<label class="hide" for="lang">${language.text('footer.language')}</label>
<select id="lang" name="lang">
${[...LANGUAGES.values()].map((option) => renderOption(option, option.tag === language.tag))}</select>
<button class="quiet">${language.text('footer.language.submit')}</button>
</form>
${links}${renderLinks(view)}</footer>`;
}

/** Renders the name of each language in that language, so that people find theirs. */
function renderOption({ tag, name, direction }: Language, isSelected: boolean): Html {
  return html`<option value="${tag}" lang="${tag}"${direction === 'rtl' && html` dir="rtl"`}${isSelected && html` selected`}>${name}</option>
`;
}
