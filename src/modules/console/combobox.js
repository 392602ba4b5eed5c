// Offers what a field may stand for while somebody types. It is the editable combobox of the ARIA practices.
const TYPING_MS = 150;

function createList(input) {
  const list = document.createElement('ul');
  list.id = `${input.id}-offers`;
  list.className = 'offers';
  list.role = 'listbox';
  list.ariaLabel = input.labels[0]?.textContent ?? '';
  list.hidden = true;
  const box = document.createElement('div');
  box.className = 'combobox';
  input.replaceWith(box);
  box.append(input, list);
  input.role = 'combobox';
  input.ariaAutoComplete = 'list';
  input.ariaExpanded = 'false';
  input.setAttribute('aria-controls', list.id);
  return list;
}

function createOption({ value, name, detail }, id) {
  const option = document.createElement('li');
  option.id = id;
  option.role = 'option';
  option.ariaSelected = 'false';
  option.dataset.value = value;
  const strong = document.createElement('bdi');
  strong.textContent = name;
  const soft = document.createElement('bdi');
  soft.className = 'soft';
  soft.textContent = detail;
  option.append(strong, ' ', soft);
  return option;
}

function offer(input) {
  const list = createList(input);
  let timer;
  let typed = '';

  function select(option) {
    for (const each of list.children) each.ariaSelected = String(each === option);
    option?.scrollIntoView({ block: 'nearest' });
    if (option) input.setAttribute('aria-activedescendant', option.id);
    else input.removeAttribute('aria-activedescendant');
  }

  function show(options) {
    list.replaceChildren(...options);
    list.hidden = options.length === 0;
    input.ariaExpanded = String(!list.hidden);
    select();
  }

  function take({ dataset }) {
    input.value = dataset.value;
    show([]);
  }

  async function ask() {
    typed = input.value.trim();
    const query = new URLSearchParams({ of: input.dataset.offers, q: typed });
    const reply = typed && (await fetch(`/offers?${query}`, { redirect: 'manual' }).catch(() => undefined));
    const offers = reply?.ok ? await reply.json() : [];
    // The answer may be older than the text, or come when the field was left.
    if (typed !== input.value.trim() || document.activeElement !== input) return;
    show(offers.map((each, at) => createOption(each, `${list.id}-${at}`)));
    announcement.textContent = offers.length === 0 ? '' : `${offers.length} found`;
  }

  input.addEventListener('input', () => {
    clearTimeout(timer);
    show([]);
    timer = setTimeout(ask, TYPING_MS);
  });
  input.addEventListener('blur', () => show([]));
  input.addEventListener('keydown', (event) => {
    const selected = list.querySelector('[aria-selected=true]');
    if (list.hidden) return;
    if (event.key === 'ArrowDown') select(selected ? selected.nextElementSibling : list.firstElementChild);
    else if (event.key === 'ArrowUp') select(selected ? selected.previousElementSibling : list.lastElementChild);
    else if (event.key === 'Escape') show([]);
    else if (event.key === 'Enter' && selected) take(selected);
    else return;
    event.preventDefault();
  });
  // Before the field loses the focus.
  list.addEventListener('mousedown', (event) => {
    event.preventDefault();
    const option = event.target.closest('[role=option]');
    if (option) take(option);
  });
}

for (const input of document.querySelectorAll('input[data-offers]')) offer(input);
