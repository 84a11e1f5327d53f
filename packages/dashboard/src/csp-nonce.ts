/** What a library has to put on a style element, so that the content security policy of this page lets it in. */
export const cspNonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

// The library that keeps the page behind a dialog from scrolling looks for it here.
Object.assign(globalThis, { __webpack_nonce__: cspNonce })
