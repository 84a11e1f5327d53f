/** What checkpoints name as their origin: `<issuer>/log/<log>` for a log, `<issuer>/root` for the root log over them. */

const ROOT = '/root'
/** The name of a log has no slash, and none is called root. */
const LOG = /\/log\/([^/]+)$/

export function isRootOrigin(origin: string): boolean {
  return origin.endsWith(ROOT)
}

/** The name of the log; null when it is none of a log. */
export function logOfOrigin(origin: string): string | null {
  return isRootOrigin(origin) ? null : (LOG.exec(origin)?.[1] ?? null)
}
