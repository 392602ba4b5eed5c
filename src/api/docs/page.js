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

const sections = [...document.querySelectorAll('.guide, .operation')].map((section) => {
  const links = document.querySelectorAll(`nav a[href="#${CSS.escape(section.id)}"]`);
  return { section, links, text: `${section.textContent} ${section.dataset.words}`.toLowerCase() };
});
const form = document.querySelector('.search');
const [field, status] = [form.querySelector('input'), form.querySelector('output')];
form.hidden = false;
field.addEventListener('input', () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { section, links, text } of sections) {
    const isFound = words.every((word) => text.includes(word));
    found += isFound ? 1 : 0;
    section.hidden = !isFound;
    for (const link of links) link.parentElement.hidden = !isFound;
  }
  document.body.classList.toggle('searching', words.length > 0);
  for (const group of document.querySelectorAll('.toc details')) group.open = words.length > 0;
  status.textContent = words.length > 0 ? `${found} found` : '';
});
