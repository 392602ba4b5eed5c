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
  // After the event, because the browser leaves disabled buttons out of the form.
  form.addEventListener('submit', () => setTimeout(setBusy, 0, form.dataset.busy));
}
document.querySelector('#lang')?.addEventListener('change', ({ target }) => target.form.requestSubmit());
// A page that the browser restores from its history must not stay busy.
window.addEventListener('pageshow', (event) => event.persisted && setBusy(''));
// A field that was wrong gets the focus, because the next step is to fill it in again. It is described by the alert.
if (alert?.textContent) (document.querySelector('[aria-invalid]') ?? alert).focus();
