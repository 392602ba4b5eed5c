// Posts the token in the fragment, which reaches no log, and keeps it for a page in another language.
const field = document.querySelector('#link');
const given = location.hash.slice(1) || sessionStorage.getItem('recovery');
if (/^[\w-]{43}$/.test(given)) {
  sessionStorage.setItem('recovery', given);
  history.replaceState(null, '', location.pathname + location.search);
  field.value = given;
  field.form.requestSubmit();
}
