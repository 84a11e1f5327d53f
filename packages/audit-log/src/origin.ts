/**
 * The origin of a checkpoint: `<issuer>/log/<log>` for a log, `<issuer>/root` for the root log over them. After a
 * restore, or after a rewrite was accepted, the root log is `<issuer>/root.<name>`.
 */

const ROOT = /\/root(\.[^/]+)?$/
/** The name of a log contains no slash, and is never `root`. */
const LOG = /\/log\/([^/]+)$/

export function isRootOrigin(origin: string): boolean {
  return ROOT.test(origin)
}

/**
 * Returns the name of a root log, without the issuer, which may change: `root`, or `root.<name>`; null for any other
 * origin.
 */
export function rootOfOrigin(origin: string): string | null {
  return ROOT.exec(origin)?.[0].slice(1) ?? null
}

/** Returns the name of the log; null when the origin is not that of a log. */
export function logOfOrigin(origin: string): string | null {
  return isRootOrigin(origin) ? null : (LOG.exec(origin)?.[1] ?? null)
}
