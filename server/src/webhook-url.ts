/** Which URLs a webhook may have, and which addresses the server sends to. docs/webhooks.md "Which URLs are allowed". */
import { isIP } from 'node:net'
import { type Address, isInNetwork, LIMITS, type Network, parseAddress, parseNetwork } from '@countersign/contract'

export interface WebhookUrlRules {
  /** Also `http`, other ports, and hosts of private networks. */
  readonly allowsPrivate: boolean
}

const PORTS: ReadonlySet<string> = new Set(['', '443', '8443'])

/**
 * What is wrong with the URL of a webhook, as a sentence part that follows the name of the member; null for nothing. A host
 * name is not resolved here: whoever connects looks at its addresses.
 */
export function faultOfWebhookUrl(text: string, { allowsPrivate }: WebhookUrlRules): string | null {
  if (text.length > LIMITS.webhookUrlLength) return `must have at most ${LIMITS.webhookUrlLength} characters`
  // The parser would drop some of these, and then the server would call another URL than the one that is shown.
  if (/[\s\p{Cc}\p{Cf}\\]/u.test(text)) return 'must not hold white space, control characters or backslashes'
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) return 'must be a URL'
  const isHttp = url.protocol === 'http:' && allowsPrivate
  if (url.protocol !== 'https:' && !isHttp)
    return allowsPrivate ? 'must be an https or http URL' : 'must be an https URL'
  // The parser adds slashes that are missing, and takes more away: the user below would not be seen.
  if (!/^https?:\/\/[^/]/i.test(text)) return `must begin with ${url.protocol}// and a host`
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return 'must not hold a user name or password'
  if (url.href.includes('#')) return 'must not have a fragment'
  if (allowsPrivate) return null
  if (!PORTS.has(url.port)) return 'must use port 443 or 8443'
  const host = hostOf(url)
  if (host === 'localhost' || host.endsWith('.localhost')) return 'must not name this machine'
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'must not hold an address that is not public'
  return null
}

/** The host without the brackets of an IPv6 address and without dots at its end. Every spelling of an address is the plain one. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
}

/** Networks whose addresses are not of one host that everybody can reach (IANA: special-purpose registries, multicast). */
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
  // Inside Azure it is the platform's own endpoint, and nothing outside.
  '168.63.129.16/32',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map((text) => parseNetwork(text) as Network)

/** Of IPv6, only these are given to hosts of the internet (RFC 4291). */
const GLOBAL_IPV6 = parseNetwork('2000::/3') as Network

/** The gateway from IPv6 to the IPv4 address in the last 32 bits (RFC 6052). */
const NAT64 = parseNetwork('64:ff9b::/96') as Network

/** Whether an IP address is one of the public internet. Not a text that is no address, nor one with a zone. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text)
  return address !== null && isPublic(isInNetwork(address, NAT64) ? address.slice(6) : address)
}

function isPublic(address: Address): boolean {
  const isIpv6 = address.length === 8
  if (isIpv6 && !isInNetwork(address, GLOBAL_IPV6)) return false
  return !NOT_PUBLIC.some((network) => isInNetwork(address, network))
}
