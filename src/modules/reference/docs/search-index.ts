/** What the script of the API reference fetches at the first search. */
import type { PageSection, ReferencePage } from './pages.ts';
import { SEARCH_WORDS } from './search-words.ts';

/** A section, as the script reads it. */
export interface SearchEntry {
  readonly page: string;
  /** The title of the page. */
  readonly group: string;
  readonly id: string;
  readonly title: string;
  /** Each word once, in lower case. */
  readonly words: string;
}

export function createSearchIndex(pages: readonly ReferencePage[]): SearchEntry[] {
  return pages.flatMap(({ path, title, topics, anchor, intro, sections }) => {
    const introduction = anchor === undefined ? [] : [{ id: anchor, title, body: intro }];
    return [...introduction, ...sections].map((section) => ({
      page: path,
      group: topics ? `${title}: ${topics}` : title,
      id: section.id,
      title: section.title,
      words: readWords(section),
    }));
  });
}

function readWords({ id, body }: PageSection): string {
  const text = body.text.replace(/<[^>]+>/g, ' ').replace(/&#?\w+;/g, ' ');
  const words = `${text} ${SEARCH_WORDS[id] ?? ''}`.toLowerCase().split(/[^\p{L}\p{N}_.-]+/u);
  return [...new Set(words)].join(' ').trim();
}
