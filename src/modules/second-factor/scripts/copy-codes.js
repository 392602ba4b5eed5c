// The page with recovery codes: copies them where the browser can.
import { status } from '../../../login-page/scripts/page.js';

const copy = document.querySelector('#copy');
copy.hidden = navigator.clipboard === undefined;
copy.addEventListener('click', async () => {
  await navigator.clipboard.writeText(copy.dataset.codes);
  status.textContent = copy.dataset.copied;
});
