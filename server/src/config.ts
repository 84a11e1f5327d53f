/** The settings of the server: environment variables in one table, from which their page is generated too. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { LIMITS } from '@countersign/contract'
import { isPlausibleKeyText } from './api-key-text.js'
import { faultOfMongoUrl } from './stores/mongodb/connection/url.js'

/** Why a value cannot be used, as the text that follows the name of the variable in a sentence. */
class Invalid {
  constructor(readonly reason: string) {}
}

interface Setting {
  readonly variable: string
  /** As it would be written in the environment; null: no default. */
  readonly fallback: string | null
  /** Describes the default when `fallback` is null: Markdown for the page. */
  readonly otherwise?: string
  /** The allowed values: Markdown for the page. */
  readonly allowed: string
  /** What the setting does: Markdown for the page. */
  readonly description: string
  readonly parse: (text: string) => unknown
}

const DAY_SECONDS = 86_400
/** The endpoint that OpenTelemetry gives to OTLP by HTTP. */
const DEFAULT_ENDPOINT = 'http://localhost:4318'
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/**
 * After a change run scripts/generate-configuration-page.mjs: it writes docs/reference/configuration.md from this
 * table.
 */
export const SETTINGS = {
  port: {
    ...wholeNumber('PORT', '8787', 0, 65_535),
    description: 'The port to listen on. With `0` the server takes a free port and prints it.',
  },
  host: {
    variable: 'HOST',
    fallback: '127.0.0.1',
    allowed: 'an address or a host name',
    parse: (address: string) => address,
    description: 'The address to listen on. If it is not a loopback address, `ISSUER` is required.',
  },
  dataDir: {
    variable: 'DATA_DIR',
    fallback: 'data',
    allowed: 'a folder',
    parse: (path: string) => resolve(path),
    description: 'Where the server keeps its data. A relative path starts at the working directory.',
  },
  issuer: {
    variable: 'ISSUER',
    fallback: null,
    otherwise: '`http://<HOST>:<port>`',
    allowed: 'an `http` or `https` URL',
    parse: httpUrl,
    description: 'The issuer that permits name.',
  },
  permitAudience: {
    variable: 'PERMIT_AUDIENCE',
    fallback: null,
    otherwise: 'the issuer',
    allowed: 'any text',
    parse: (audience: string) => audience,
    description: 'The audience that permits name.',
  },
  logLevel: {
    variable: 'LOG_LEVEL',
    fallback: 'info',
    allowed: LOG_LEVELS.map((level) => `\`${level}\``).join(', '),
    parse: (level: string) =>
      LOG_LEVELS.includes(level)
        ? level
        : new Invalid(`must be one of ${LOG_LEVELS.join(', ')}, but is ${JSON.stringify(level)}.`),
    description: 'The lowest level that is logged. On a terminal the default is `warn`.',
  },
  bootstrapKey: {
    variable: 'COUNTERSIGN_BOOTSTRAP_KEY',
    fallback: null,
    allowed: '32 to 256 visible ASCII characters',
    parse: (key: string) => {
      if (!/^[\x21-\x7e]{32,256}$/.test(key)) return new Invalid('must be 32 to 256 visible ASCII characters.')
      if (isPlausibleKeyText(key)) return key
      return new Invalid('looks like a Countersign key, but its format or checksum is wrong.')
    },
    description: 'The first API key. Ignored once the store has keys.',
  },
  metricsToken: {
    variable: 'METRICS_TOKEN',
    fallback: null,
    allowed: '16 to 256 visible ASCII characters',
    parse: (token: string) =>
      /^[\x21-\x7e]{16,256}$/.test(token) ? token : new Invalid('must be 16 to 256 visible ASCII characters.'),
    description: 'If set, `/metrics` requires it as a bearer token.',
  },
  rateLimitPerSecond: {
    ...wholeNumber('RATE_LIMIT_PER_SECOND', '1000', 0, 1_000_000),
    description: 'Requests that each API key may send per second. `0` turns the limit off.',
  },
  // A permit lives as long as its decision, and verifiers reject a permit that lives longer than an hour.
  decisionTtlSeconds: {
    ...wholeNumber('DECISION_TTL_SECONDS', '300', 1, 3600),
    description: 'How long a decision and its permit are valid.',
  },
  reviewTtlSeconds: {
    ...wholeNumber('REVIEW_TTL_SECONDS', '86400', 1, 365 * DAY_SECONDS),
    description: 'How long a review waits for its reviewer.',
  },
  approvalTtlSeconds: {
    ...wholeNumber('APPROVAL_TTL_SECONDS', '3600', 1, 30 * DAY_SECONDS),
    description: 'How long an approved decision waits for its claim.',
  },
  maxOpenReviews: {
    ...wholeNumber('MAX_OPEN_REVIEWS', '100', 0, 1_000_000),
    description: 'How many decisions of one agent may wait for a review.',
  },
  maxOpenReviewsPerKey: {
    ...wholeNumber('MAX_OPEN_REVIEWS_PER_KEY', '1000', 0, 1_000_000),
    description: 'How many decisions of one API key may wait for a review.',
  },
  maxEvaluationSteps: {
    ...wholeNumber('MAX_EVALUATION_STEPS', `${LIMITS.evaluationSteps}`, 1000, 10_000_000),
    description:
      'How much [work](../concepts/policies.md#how-much-work-a-decision-takes) an evaluation may take. A request that takes ' +
      'more is denied. 200000 steps take 10 to 40 ms for most policies, and up to 200 ms for many `$like` patterns with ' +
      'long text between stars.',
  },
  maxConnections: {
    ...wholeNumber('MAX_CONNECTIONS', '10000', 1, 1_000_000),
    description:
      'How many connections may be open. The server closes [each further one](http.md#too-many-connections).',
  },
  // A decision can be settled for 30 days after it expired.
  retentionDays: {
    ...wholeNumber('RETENTION_DAYS', null, 31, 36_500),
    description:
      'The minimum number of days to keep decisions ([retention](../operations.md#retention)). If not set, the server keeps ' +
      'them permanently.',
  },
  requestRetentionDays: {
    ...wholeNumber('REQUEST_RETENTION_DAYS', null, 1, 36_500),
    description:
      'After how many days the requests of decisions are [erased](../erase-requests.md#erase-a-request). If not set, the server keeps ' +
      'them as long as the decisions.',
  },
  webhookAllowPrivate: {
    variable: 'WEBHOOK_ALLOW_PRIVATE',
    fallback: '0',
    allowed: '`0` or `1`',
    parse: (text: string) => (/^[01]$/.test(text) ? text === '1' : new Invalid('must be 0 or 1.')),
    description:
      'With `1`, [webhooks](../webhooks.md#which-urls-are-allowed) may have private addresses, `http` URLs and any port. ' +
      'For development only: anyone who can write webhooks can then reach your internal network through the server.',
  },
  otelSdkDisabled: {
    variable: 'OTEL_SDK_DISABLED',
    fallback: 'false',
    allowed: '`true` or `false`',
    parse: (text: string) =>
      /^(true|false)$/i.test(text)
        ? text.toLowerCase() === 'true'
        : new Invalid(`must be true or false, but is ${JSON.stringify(text)}.`),
    description: 'With `true`, the server exports no spans.',
  },
  tracesExporter: {
    variable: 'OTEL_TRACES_EXPORTER',
    fallback: null,
    otherwise: '`otlp` if an endpoint is set',
    allowed: '`otlp` or `none`',
    parse: (name: string) =>
      ['otlp', 'none'].includes(name) ? name : new Invalid(`must be otlp or none, but is ${JSON.stringify(name)}.`),
    description:
      'With `none`, the server exports no spans. With `otlp` and without an endpoint, it exports to `http://localhost:4318`.',
  },
  otlpEndpoint: {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    fallback: null,
    allowed: 'an `http` or `https` URL',
    parse: httpUrl,
    description:
      'If set, the server exports [spans](../tracing.md#spans-of-the-server) to this collector, by `http/protobuf`. ' +
      'Not set: no spans. The path `/v1/traces` is added.',
  },
  otlpTracesEndpoint: {
    variable: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    fallback: null,
    allowed: 'an `http` or `https` URL',
    parse: httpUrl,
    description: 'Used in place of `OTEL_EXPORTER_OTLP_ENDPOINT`. No path is added.',
  },
  mongodbUrl: {
    variable: 'MONGODB_URL',
    fallback: null,
    allowed: '`mongodb://…` or `mongodb+srv://…`',
    parse: (url: string) => {
      const fault = faultOfMongoUrl(url)
      return fault === null ? url : new Invalid(fault)
    },
    description:
      'If set, the server keeps its data in MongoDB, in the database that the URL names or in `countersign`; `DATA_DIR` then holds ' +
      'only the signing keys.',
  },
} as const satisfies Readonly<Record<string, Setting>>

type Value<S extends Setting> = Exclude<ReturnType<S['parse']>, Invalid> | (S['fallback'] extends string ? never : null)

/** The value of each setting; null: not set, and there is no default. */
export type Config = { readonly [Name in keyof typeof SETTINGS]: Value<(typeof SETTINGS)[Name]> }

/** The server cannot run with these settings. `problems` names every fault. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

/**
 * Reads the settings from the environment. An empty variable counts as absent.
 *
 * @throws ConfigError
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, { variable, fallback, parse }] of Object.entries<Setting>(SETTINGS)) {
    const given = env[variable] || fallback
    const value = given === null ? null : parse(given)
    if (value instanceof Invalid) problems.push(`${variable} ${value.reason}`)
    else values[name] = value
  }
  // Each value comes from its setting's own `parse`, or is null where there is no default.
  const config = values as Config
  if (config.issuer === null && !isLoopback(config.host))
    problems.push(
      `ISSUER must be set because HOST (${config.host}) is not a loopback address: permits name the issuer.`,
    )
  if (exportOfSpans(config).url !== null) problems.push(...protocolProblems(env))
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

interface ExportOfSpans {
  /** Where spans are sent; null: nowhere. */
  readonly url: string | null
  /** Why they are sent nowhere, as the text that follows `because` in a sentence. */
  readonly reason: string | null
}

/** What the settings ask for, with the meaning that OpenTelemetry gives to its variables. Without any of them, nothing is sent. */
export function exportOfSpans({
  otelSdkDisabled,
  otlpEndpoint,
  otlpTracesEndpoint,
  tracesExporter,
}: Config): ExportOfSpans {
  if (otelSdkDisabled) return { url: null, reason: 'OTEL_SDK_DISABLED is true' }
  if (tracesExporter === 'none') return { url: null, reason: 'OTEL_TRACES_EXPORTER is none' }
  if (otlpTracesEndpoint !== null) return { url: otlpTracesEndpoint, reason: null }
  const endpoint = otlpEndpoint ?? (tracesExporter === 'otlp' ? DEFAULT_ENDPOINT : null)
  if (endpoint === null) return { url: null, reason: 'OTEL_EXPORTER_OTLP_ENDPOINT is not set' }
  return { url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, reason: null }
}

/** Nothing else would say why no span arrives. */
function protocolProblems(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  // The one for traces alone comes first.
  const variable = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'].find((name) => env[name])
  const protocol = variable && env[variable]
  if (!protocol || protocol === 'http/protobuf') return []
  return [`${variable} must be http/protobuf, but is ${JSON.stringify(protocol)}.`]
}

function httpUrl(url: string): string | Invalid {
  return isHttpUrl(url) ? url : new Invalid('must be an http or https URL without credentials, query and fragment.')
}

function wholeNumber<Fallback extends string | null>(variable: string, fallback: Fallback, min: number, max: number) {
  return {
    variable,
    fallback,
    allowed: `${min} to ${max}`,
    parse(given: string): number | Invalid {
      const value = /^\d{1,12}$/.test(given) ? Number(given) : Number.NaN
      if (value >= min && value <= max) return value
      return new Invalid(`must be a whole number between ${min} and ${max}, but is ${JSON.stringify(given)}.`)
    },
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Whether permits may name this URL as their issuer. */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === '' && !/[?#]/.test(text)
}
