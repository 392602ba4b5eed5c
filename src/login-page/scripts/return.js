// Sends the answer on without a click.
document.getElementById('return').submit();
