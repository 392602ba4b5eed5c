// Adds copy buttons and a search. Without this script, people use the browser's own search and copy by hand.
if (navigator.clipboard) {
  for (const pre of document.querySelectorAll('pre')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 2_000);
    });
    pre.before(button);
  }
}

const form = document.querySelector('.search');
const field = form.querySelector('input');
const results = document.querySelector('.results');
const { root, page } = form.dataset;

let index;
// An entry has the page, the ID, the title and the words of a section.
const loadIndex = async () => {
  index ??= fetch(`${root}docs/search.json`).then((reply) => reply.json());
  try {
    return await index;
  } catch {
    index = undefined;
    return [];
  }
};

// An address may name a section that has moved to another page, or that is closed.
const openSection = async () => {
  const id = decodeURIComponent(location.hash.slice(1));
  const here = document.getElementById(id);
  const closed = here?.closest('details:not([open])');
  if (closed) {
    closed.open = true;
    here.scrollIntoView();
  }
  if (!id || here) return;
  const entry = (await loadIndex()).find((each) => each.id === id.replace(/^error-.*/, 'errors'));
  if (entry) location.replace(`${root}${entry.page}#${id}`);
};

// Marks words in the sections that were found here, and returns where. Opens what is closed only if a section shows no mark.
const markWords = (words, ids) => {
  const marks = ids.flatMap((id) => {
    const texts = document.createTreeWalker(document.getElementById(id), NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
      const { currentNode: node } = texts;
      const text = node.data.toLowerCase();
      for (const word of words) {
        for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          found.push(range);
        }
      }
    }
    if (found.length > 0 && !found.some(isShown)) found[0].startContainer.parentElement.closest('details').open = true;
    return found;
  });
  globalThis.CSS?.highlights?.set('found', new Highlight(...marks));
  return marks.filter(isShown);
};

const isShown = (range) => range.getClientRects().length > 0;

const rankOf = ({ title }, text) => (title.toLowerCase().includes(text) ? 0 : 1);

const search = async () => {
  const text = field.value.trim().toLowerCase();
  const words = text.split(/\s+/).filter(Boolean);
  const entries = words.length > 0 ? await loadIndex() : [];
  if (text !== field.value.trim().toLowerCase()) return;
  const found = entries
    .filter((entry) => words.every((word) => `${entry.title} ${entry.words}`.toLowerCase().includes(word)))
    .sort((one, other) => rankOf(one, text) - rankOf(other, text));
  const here = found.filter((entry) => entry.page === page).map(({ id }) => id);
  results.hidden = words.length === 0;
  results.querySelector('output').textContent = found.length > 0 ? `${found.length} found` : 'Nothing found';
  const groups = [...new Set(found.map(({ group }) => group))];
  const lists = groups.flatMap((group) =>
    renderGroup(
      group,
      found.filter((entry) => entry.group === group),
    ),
  );
  results.querySelector('div').replaceChildren(...lists);
  const marks = markWords(words, here);
  // Beside the text, the list of results stays in sight.
  if (matchMedia('(width >= 64rem)').matches)
    marks[0]?.startContainer.parentElement.scrollIntoView({ block: 'center' });
};

const renderGroup = (group, entries) => {
  const [title, list] = [document.createElement('p'), document.createElement('ul')];
  title.textContent = group;
  list.className = 'plain';
  for (const entry of entries) {
    const link = document.createElement('a');
    const query = entry.page === page ? '' : `${root}${entry.page}?q=${encodeURIComponent(field.value)}`;
    link.href = `${query}#${entry.id}`;
    link.textContent = entry.title;
    const item = document.createElement('li');
    item.append(link);
    list.append(item);
  }
  return [title, list];
};

form.hidden = false;
field.addEventListener('input', search);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  await search();
  results.querySelector('a')?.click();
});
addEventListener('hashchange', openSection);
await openSection();
field.value = new URLSearchParams(location.search).get('q') ?? '';
if (field.value) await search();
