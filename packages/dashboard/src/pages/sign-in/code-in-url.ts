export const SIGN_IN_PATH = '/sign-in'

export function hasCode(): boolean {
  return window.location.pathname === SIGN_IN_PATH && window.location.hash.length > 1
}

/** Returns the code of the one-time link that opened this page; null for none. Removes it from the address bar and the history. */
export function takeCode(): string | null {
  const { pathname, hash } = window.location
  if (pathname !== SIGN_IN_PATH) return null
  window.history.replaceState(window.history.state, '', '/')
  return hash.length > 1 ? hash.slice(1) : null
}
