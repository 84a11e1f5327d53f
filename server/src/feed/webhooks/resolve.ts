/** Finds the addresses of host names. */
import { lookup, Resolver } from 'node:dns/promises'
import { SendError } from './send-error.js'

export interface HostAddress {
  readonly address: string
  readonly family: number
}

/** All addresses of a host name. Rejects when there is none. */
export type Resolve = (hostname: string) => Promise<readonly HostAddress[]>

/** Twice so long at most, for each of the two families at a time. */
const QUERY_TIMEOUT_MS = 2000

interface DnsOptions {
  /** The name servers; those of the system when absent. */
  readonly servers?: readonly string[]
  readonly queryTimeoutMs?: number
}

/**
 * By the DNS alone. The system's own way would hold one of the few threads that all of Node shares, for as long as the name
 * server of somebody else takes: signatures of permits would wait for it.
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
    if (addresses.length === 0) throw new SendError('The host name cannot be resolved.')
    return addresses
  }
}

/** As every program of this machine: also names that are only known here. */
export const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true })
