/**
 * Opens connections to hosts that API callers have named. This is the only place that decides which addresses may be
 * called.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { withDeadline } from '../../concurrency/with-deadline.js'
import { hostOf, isPublicAddress, type WebhookUrlRules } from '../../webhook-url.js'
import { type HostAddress, type Resolve, resolveByDns, resolveBySystem } from './resolve.js'
import { NO_PUBLIC_ADDRESS, SendError } from './send-error.js'

export interface ConnectorOptions extends WebhookUrlRules {
  /** Absent: the DNS, or the system's resolver where private networks are allowed. */
  readonly resolve?: Resolve | undefined
  /** Certificate authorities to trust instead of Node's. */
  readonly ca?: string | undefined
  /** The time from the name resolution to the end of the TLS handshake. */
  readonly connectTimeoutMs: number
}

/** How long one of several addresses is tried before the next one is tried as well. */
const NEXT_ADDRESS_AFTER_MS = 1000

/**
 * Opens a connection to the host of a URL; for `https` over TLS, with a verified certificate. The name is resolved
 * once, all its addresses must be public, and only these are connected to. Nothing is sent yet.
 *
 * @throws SendError, or the error of the socket
 */
export async function connectTo(url: URL, options: ConnectorOptions): Promise<Socket> {
  const { connectTimeoutMs } = options
  const late = () => new SendError(`There was no connection within ${connectTimeoutMs / 1000} seconds.`)
  const endMs = performance.now() + connectTimeoutMs
  const addresses = await withDeadline(allowedAddresses(hostOf(url), options), connectTimeoutMs, late)
  const socket = socketTo(url, addresses, options)
  try {
    const opened = isConnected(socket, url.protocol === 'https:' ? 'secureConnect' : 'connect')
    await withDeadline(opened, endMs - performance.now(), late)
    // The check before covered the intended addresses. This one covers the address that the socket is connected to.
    if (!options.allowsPrivate && !isPublicAddress(socket.remoteAddress ?? '')) throw new SendError(NO_PUBLIC_ADDRESS)
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function allowedAddresses(host: string, options: ConnectorOptions): Promise<readonly HostAddress[]> {
  const { allowsPrivate, resolve = allowsPrivate ? resolveBySystem : resolveByDns() } = options
  const family = isIP(host)
  // For a literal address, Node does not call `lookup`.
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }]
  if (addresses.length === 0) throw new SendError(NO_PUBLIC_ADDRESS)
  if (!allowsPrivate && !addresses.every(({ address }) => isPublicAddress(address)))
    throw new SendError(NO_PUBLIC_ADDRESS)
  return addresses
}

function socketTo(url: URL, addresses: readonly HostAddress[], { ca }: ConnectorOptions): Socket {
  const host = hostOf(url)
  const isTls = url.protocol === 'https:'
  const target = {
    host,
    port: Number(url.port) || (isTls ? 443 : 80),
    lookup: answering(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
  }
  if (!isTls) return connectTcp(target)
  // A server name is never an address (RFC 6066). `rejectUnauthorized` is stated, so no environment variable can unset it.
  const servername = isIP(host) === 0 ? host : ''
  return connectTls({ ...target, servername, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'], ...(ca && { ca }) })
}

function answering(addresses: readonly HostAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = addresses as [HostAddress]
    if (all) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  }
}

function isConnected(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve)
    // Not removed: the socket has no other error listener until a request is sent.
    socket.on('error', reject)
    socket.once('close', () => reject(new SendError('The connection was closed before it was open.')))
  })
}
