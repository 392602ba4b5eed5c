// A page without a way on leads back to where the person came from.
const back = document.querySelector('[data-back]');
if (back && history.length > 1) {
  back.hidden = false;
  back.addEventListener('click', () => history.back());
}
