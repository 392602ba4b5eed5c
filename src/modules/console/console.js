// Keeps the operator signed in while the page is visible, as long as the server allows.
const RENEWAL_MS = 4 * 60_000;

function renew() {
  if (document.visibilityState === 'visible') fetch('/renew', { method: 'POST', redirect: 'manual' }).catch(() => {});
}

if (document.querySelector('.side')) {
  setInterval(renew, RENEWAL_MS);
  document.addEventListener('visibilitychange', renew);
}

// Keeps figures up to date while the page is visible.
const LIVE_MS = 5_000;
const live = document.querySelector('[data-live]');

async function refresh() {
  if (document.visibilityState !== 'visible' || live.contains(document.activeElement)) return;
  const reply = await fetch(live.dataset.live, { redirect: 'manual' }).catch(() => undefined);
  if (!reply?.ok) return;
  const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
  const isOpen = live.querySelector('details')?.open;
  live.replaceChildren(...(page.querySelector('[data-live]')?.childNodes ?? live.childNodes));
  const details = live.querySelector('details');
  if (details) details.open = isOpen ?? false;
}

if (live) setInterval(refresh, LIVE_MS);

// Moves the focus to the result or the error of a form: screen readers read it, and the keyboard continues there.
document.querySelector('[role="alert"], [role="status"]')?.focus();

// Replaces the URL of the form, so that a reload does not send it again and create another key.
const once = document.querySelector('[data-path]');
if (once) history.replaceState(null, '', once.dataset.path);

// Ignores a second click while the form is being sent.
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

// Asks before the page is left with typed values that were not sent.
addEventListener('input', ({ target }) => {
  isChanged ||= target.form?.method === 'post';
});
addEventListener('beforeunload', (event) => {
  if (isChanged) event.preventDefault();
});

// Checks the size here, because the server refuses a file only after it was sent.
for (const input of document.querySelectorAll('input[data-max-bytes]')) {
  input.addEventListener('change', () => {
    const isTooLarge = input.files[0]?.size > Number(input.dataset.maxBytes);
    input.setCustomValidity(isTooLarge ? 'This file is too large.' : '');
    input.reportValidity();
  });
}

// Tells screen readers that a text was copied.
const ANNOUNCED_MS = 3_000;
const announcement = document.createElement('p');
announcement.className = 'hide';
announcement.ariaLive = 'polite';
document.body.append(announcement);

// Shows the selected text instead: without https or permission, scripts cannot write to the clipboard.
function showSelected(button) {
  const field = document.createElement('input');
  field.readOnly = true;
  field.value = button.dataset.copy;
  field.ariaLabel = 'To copy';
  button.replaceWith(field);
  field.select();
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  const label = button.firstChild;
  const text = label.textContent;
  let timer;
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      return showSelected(button);
    }
    label.textContent = 'Copied';
    announcement.textContent = 'Copied';
    clearTimeout(timer);
    timer = setTimeout(() => {
      label.textContent = text;
      announcement.textContent = '';
    }, ANNOUNCED_MS);
  });
}
