// Every page: the busy state of its forms, and the focus on its alert.
export const status = document.querySelector('[role=status]');
const alert = document.querySelector('[role=alert]');

export function setBusy(text) {
  status.textContent = text;
  for (const button of document.querySelectorAll('button')) button.disabled = text !== '';
}

export function fail(text) {
  setBusy('');
  alert.textContent = text;
  alert.focus();
}

for (const form of document.querySelectorAll('form[data-busy]')) {
  // Later, because a button that is disabled now would be missing in the form.
  form.addEventListener('submit', () => setTimeout(setBusy, 0, form.dataset.busy));
}
// A page that is restored from the history must not be busy.
window.addEventListener('pageshow', (event) => event.persisted && setBusy(''));
if (alert?.textContent) alert.focus();
