export const SIGN_IN_PATH = '/sign-in'

/** Whether this page was opened with a one-time link. */
export function hasCode(): boolean {
  return window.location.pathname === SIGN_IN_PATH && window.location.hash.length > 1
}

/** The code of a one-time link that this page was opened with; null for none. It leaves the address bar and the history. */
export function takeCode(): string | null {
  const { pathname, hash } = window.location
  if (pathname !== SIGN_IN_PATH) return null
  window.history.replaceState(window.history.state, '', '/')
  return hash.length > 1 ? hash.slice(1) : null
}
