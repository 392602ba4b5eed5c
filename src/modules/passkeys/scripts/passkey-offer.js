// Sends with each form whether this device can save a passkey. The server offers one after the sign-in.
window.PublicKeyCredential?.isUserVerifyingPlatformAuthenticatorAvailable?.()
  .then((isAvailable) => {
    for (const field of document.querySelectorAll('input[name=passkey]')) field.value = isAvailable ? '1' : '';
  })
  .catch(() => {});
