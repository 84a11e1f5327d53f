/** Finds the addresses of host names. */
import { lookup, Resolver } from 'node:dns/promises'
import { NO_PUBLIC_ADDRESS, SendError } from './send-error.js'

export interface HostAddress {
  readonly address: string
  readonly family: number
}

/** Returns all addresses of a host name. Rejects when there is none. */
export type Resolve = (hostname: string) => Promise<readonly HostAddress[]>

/**
 * The timeout of one query. A name takes at most twice this long; the two address families are queried at the same
 * time.
 */
const QUERY_TIMEOUT_MS = 2000

interface DnsOptions {
  /** The name servers; those of the system when absent. */
  readonly servers?: readonly string[]
  readonly queryTimeoutMs?: number
}

/**
 * Resolves by DNS queries alone. The system's resolver would block one of the few threads that all of Node shares for
 * as long as a foreign name server takes, and the signatures of permits would wait for it.
 */
export function resolveByDns({ servers, queryTimeoutMs = QUERY_TIMEOUT_MS }: DnsOptions = {}): Resolve {
  return async (hostname) => {
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: 2 })
    if (servers !== undefined) resolver.setServers(servers)
    // Most hosts have addresses of one family only.
    const [ipv4, ipv6] = await Promise.all([
      resolver.resolve4(hostname).catch(() => []),
      resolver.resolve6(hostname).catch(() => []),
    ])
    const addresses = [
      ...ipv4.map((address) => ({ address, family: 4 })),
      ...ipv6.map((address) => ({ address, family: 6 })),
    ]
    if (addresses.length === 0) throw new SendError(NO_PUBLIC_ADDRESS)
    return addresses
  }
}

/** Resolves like every program on this machine, including names that only it knows. */
export const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true })
