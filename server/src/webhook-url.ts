/**
 * Defines which URLs a webhook may have, and which addresses the server sends to. docs/webhooks.md "Which URLs are
 * allowed".
 */
import { isIP } from 'node:net'
import { type Address, isInNetwork, LIMITS, type Network, parseAddress, parseNetwork } from '@countersign/contract'

export interface WebhookUrlRules {
  /** Also allows `http`, other ports, and hosts of private networks. */
  readonly allowsPrivate: boolean
}

const PORTS: ReadonlySet<string> = new Set(['', '443', '8443'])

/**
 * Returns what is wrong with the URL of a webhook, as a sentence part that follows the name of the member; null for
 * nothing. A host name is not resolved here: the code that connects checks its addresses.
 */
export function faultOfWebhookUrl(text: string, { allowsPrivate }: WebhookUrlRules): string | null {
  if (text.length > LIMITS.webhookUrlLength) return `must have at most ${LIMITS.webhookUrlLength} characters`
  // The parser drops some of these characters, so the server would call another URL than the one shown.
  if (/[\s\p{Cc}\p{Cf}\\]/u.test(text)) return 'must not contain white space, control characters or backslashes'
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) return 'must be a URL'
  const isHttp = url.protocol === 'http:' && allowsPrivate
  if (url.protocol !== 'https:' && !isHttp)
    return allowsPrivate ? 'must be an https or http URL' : 'must be an https URL'
  // The parser adds missing slashes and removes extra ones, which would hide the user name that is checked below.
  if (!/^https?:\/\/[^/]/i.test(text)) return `must begin with ${url.protocol}// and a host`
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return 'must not contain a user name or password'
  if (url.href.includes('#')) return 'must not have a fragment'
  if (allowsPrivate) return null
  if (!PORTS.has(url.port)) return 'must use port 443 or 8443'
  const host = hostOf(url)
  if (host === 'localhost' || host.endsWith('.localhost')) return 'must not name this machine'
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'must not contain an address that is not public'
  return null
}

/**
 * Returns the host without the brackets of an IPv6 address and without trailing dots. Every spelling of an address
 * becomes the plain one.
 */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
}

/** Networks whose addresses do not belong to a single public host (IANA: special-purpose registries, multicast). */
const NOT_PUBLIC: readonly Network[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Inside Azure this is the platform's own endpoint; outside it is unused.
  '168.63.129.16/32',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map((text) => parseNetwork(text) as Network)

/** The only IPv6 addresses that hosts of the internet get (RFC 4291). */
const GLOBAL_IPV6 = parseNetwork('2000::/3') as Network

/** The gateway from IPv6 to the IPv4 address in the last 32 bits (RFC 6052). */
const NAT64 = parseNetwork('64:ff9b::/96') as Network

/** Whether an IP address is public. False for a text that is not an address, and for one with a zone. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text)
  return address !== null && isPublic(isInNetwork(address, NAT64) ? address.slice(6) : address)
}

function isPublic(address: Address): boolean {
  const isIpv6 = address.length === 8
  if (isIpv6 && !isInNetwork(address, GLOBAL_IPV6)) return false
  return !NOT_PUBLIC.some((network) => isInNetwork(address, network))
}
