// Fills in the address from the fragment, which reaches no log. A plus sign in the fragment does not mean a space.
const field = document.querySelector('#email');
const given = new URLSearchParams(location.hash.slice(1).replaceAll('+', '%2B')).get('email');
if (given) field.value = given;
