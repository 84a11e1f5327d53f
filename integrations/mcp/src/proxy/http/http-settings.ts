/** Reads the command-line options of the proxy for Streamable HTTP. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { HttpProxyOptions } from './http-proxy.js'

export interface UpstreamFlags {
  readonly upstream?: string
  /** `NAME=VARIABLE`. All programs on the machine could read a secret on the command line. */
  readonly upstreamHeaderEnv?: readonly string[]
}

export interface HttpFlags extends UpstreamFlags {
  readonly listen?: string
  readonly forwardAuthorization?: boolean
}

export type HttpSettings = Pick<HttpProxyOptions, 'listen' | 'upstream' | 'upstreamHeaders' | 'forwardAuthorization'>

export type UpstreamSettings = Pick<HttpProxyOptions, 'upstream' | 'upstreamHeaders'>

/**
 * Without `listen` the client is on standard input.
 *
 * @throws TypeError that names the faulty flag, without the values of variables
 */
export function httpSettings(
  { listen, ...flags }: HttpFlags,
  env: NodeJS.ProcessEnv = process.env,
): HttpSettings | UpstreamSettings {
  if (listen !== undefined)
    return {
      listen: addressOf(listen),
      ...upstreamSettings(flags, env),
      forwardAuthorization: flags.forwardAuthorization ?? false,
    }
  if (flags.forwardAuthorization === true) throw new TypeError('--forward-authorization needs --listen')
  return upstreamSettings(flags, env)
}

/** The server, and the headers for it. @throws TypeError as httpSettings does */
export function upstreamSettings(flags: UpstreamFlags, env: NodeJS.ProcessEnv = process.env): UpstreamSettings {
  const upstream = flags.upstream ?? env.COUNTERSIGN_MCP_UPSTREAM
  if (upstream === undefined) throw new TypeError('--upstream is missing: set it to the URL of the server')
  if (!URL.canParse(upstream)) throw new TypeError('--upstream must be a URL, such as https://example.com/mcp')
  const headers = (flags.upstreamHeaderEnv ?? []).map((flag) => headerOf(flag, env))
  return { upstream: new URL(upstream), upstreamHeaders: Object.fromEntries(headers) }
}

/** Reads `host:port`, `[address]:port`, or a port of loopback. */
function addressOf(text: string): HttpSettings['listen'] {
  const [, bracketed, plain, digits] = /^(?:(?:\[([\da-fA-F:.]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535)
    throw new TypeError('--listen must be an address and a port, such as 127.0.0.1:4000')
  return { host: bracketed ?? plain ?? '127.0.0.1', port }
}

function headerOf(flag: string, env: NodeJS.ProcessEnv): [string, string] {
  const [, name = '', variable = ''] = /^([^=]+)=(\w+)$/.exec(flag) ?? []
  const value = env[variable]
  const fault =
    name === ''
      ? 'must be NAME=VARIABLE, such as Authorization=UPSTREAM_AUTHORIZATION'
      : variable.startsWith('COUNTERSIGN_')
        ? `may not send ${variable}: COUNTERSIGN_ variables are for the proxy only`
        : value === undefined || value === ''
          ? `names ${variable}, which is not set`
          : undefined
  if (fault !== undefined) throw new TypeError(`--upstream-header-env ${fault}`)
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value!)
  } catch {
    throw new TypeError(`--upstream-header-env ${name}=${variable} is not a valid header`)
  }
  return [name.toLowerCase(), value!]
}
