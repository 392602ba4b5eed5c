// Submits the answer without a click.
document.getElementById('return').submit();
