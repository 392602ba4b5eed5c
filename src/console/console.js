// Keeps the operator signed in while the page is looked at, for as long as the server allows.
const RENEWAL_MS = 4 * 60_000;

function renew() {
  if (document.visibilityState === 'visible') fetch('/renew', { method: 'POST', redirect: 'manual' }).catch(() => {});
}

if (document.querySelector('.side')) {
  setInterval(renew, RENEWAL_MS);
  document.addEventListener('visibilitychange', renew);
}

// What a form has done, or what is wrong with it, is read out. The keyboard goes on from there.
document.querySelector('[role="alert"], [role="status"]')?.focus();

// A reload would send the form again, and create another key.
const once = document.querySelector('[data-path]');
if (once) history.replaceState(null, '', once.dataset.path);

// A second click would do the same again.
const SENDING_MS = 5_000;
let isChanged = false;
addEventListener('submit', (event) => {
  const { method, dataset } = event.target;
  if (method !== 'post') return;
  if (dataset.isSent) return event.preventDefault();
  dataset.isSent = 'true';
  setTimeout(() => delete dataset.isSent, SENDING_MS);
  isChanged = false;
});

// Other forms and links would lose what was typed.
addEventListener('input', ({ target }) => {
  isChanged ||= target.form?.method === 'post';
});
addEventListener('beforeunload', (event) => {
  if (isChanged) event.preventDefault();
});

// The server would say so only after the whole file was sent.
for (const input of document.querySelectorAll('input[data-max-bytes]')) {
  input.addEventListener('change', () => {
    const isTooLarge = input.files[0]?.size > Number(input.dataset.maxBytes);
    input.setCustomValidity(isTooLarge ? 'This file is too large.' : '');
    input.reportValidity();
  });
}

// Screen readers say what has been copied, too.
const SAID_MS = 3_000;
const said = document.createElement('p');
said.className = 'hide';
said.ariaLive = 'polite';
document.body.append(said);

// Without https, or where people have refused it, browsers copy only what is selected.
function offer(button) {
  const field = document.createElement('input');
  field.readOnly = true;
  field.value = button.dataset.copy;
  field.ariaLabel = 'To copy';
  button.replaceWith(field);
  field.select();
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  const label = button.firstChild;
  const words = label.textContent;
  let timer;
  button.hidden = false;
  button.disabled = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      return offer(button);
    }
    label.textContent = 'Copied';
    said.textContent = 'Copied';
    clearTimeout(timer);
    timer = setTimeout(() => {
      label.textContent = words;
      said.textContent = '';
    }, SAID_MS);
  });
}
