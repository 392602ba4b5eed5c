// Tells the server whether this device can save a passkey, so that it offers that after the sign-in.
window.PublicKeyCredential?.isUserVerifyingPlatformAuthenticatorAvailable?.()
  .then((isAvailable) => {
    for (const field of document.querySelectorAll('input[name=passkey]')) field.value = isAvailable ? '1' : '';
  })
  .catch(() => {});
