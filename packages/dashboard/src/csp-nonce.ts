/** The nonce that a style element needs to pass the content security policy of this page. */
export const cspNonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

// react-remove-scroll, which dialogs use, reads the nonce from here.
Object.assign(globalThis, { __webpack_nonce__: cspNonce })
