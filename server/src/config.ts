/** The process's settings from its environment: all of them valid, or every problem at once. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { LIMITS } from '@countersign/contract'
import { faultOfMongoUrl } from '@countersign/store-mongodb/connection/url'
import { isPlausibleKeyText } from './api-key-text.js'

export interface Config {
  readonly port: number
  readonly host: string
  readonly dataDir: string
  /** Null: the embedded store in `dataDir`. */
  readonly mongodbUrl: string | null
  /** Null: made from the host and the bound port. */
  readonly issuer: string | null
  /** Null: the issuer. */
  readonly permitAudience: string | null
  readonly logLevel: string
  readonly bootstrapKey: string | null
  readonly metricsToken: string | null
  readonly rateLimitPerSecond: number
  readonly decisionTtlSeconds: number
  readonly reviewTtlSeconds: number
  readonly approvalTtlSeconds: number
  readonly maxOpenReviews: number
  readonly maxOpenReviewsPerKey: number
  readonly maxEvaluationSteps: number
  readonly maxConnections: number
  /** Null: decisions are kept for good. */
  readonly retentionDays: number | null
}

/** Settings that cannot be run with; `problems` names every one. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const DAY_SECONDS = 86_400

/**
 * Reads the settings. An empty variable counts as absent.
 *
 * @throws ConfigError
 *
 * Source: docs/reference/configuration.md
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = []
  const text = (name: string): string | null => env[name] || null
  const whole = (name: string, fallback: number, min: number, max: number): number => {
    const given = text(name)
    if (given === null) return fallback
    const value = /^\d{1,12}$/.test(given) ? Number(given) : Number.NaN
    if (value >= min && value <= max) return value
    problems.push(`${name} has to be a whole number from ${min} to ${max}; it is ${JSON.stringify(given)}.`)
    return fallback
  }

  const host = text('HOST') ?? '127.0.0.1'
  const issuer = text('ISSUER')
  if (issuer !== null && !isHttpUrl(issuer))
    problems.push('ISSUER has to be an http or https URL without credentials, query and fragment.')
  if (issuer === null && !isLoopback(host))
    problems.push(`ISSUER has to be set when HOST is not loopback (it is ${host}): permits name it.`)
  const bootstrapKey = text('COUNTERSIGN_BOOTSTRAP_KEY')
  if (bootstrapKey !== null && !/^[\x21-\x7e]{32,256}$/.test(bootstrapKey))
    problems.push('COUNTERSIGN_BOOTSTRAP_KEY has to be 32 to 256 visible ASCII characters.')
  else if (bootstrapKey !== null && !isPlausibleKeyText(bootstrapKey))
    problems.push('COUNTERSIGN_BOOTSTRAP_KEY starts like a Countersign key, but its form or checksum is wrong.')
  const logLevel = text('LOG_LEVEL') ?? 'info'
  if (!LOG_LEVELS.includes(logLevel)) problems.push(`LOG_LEVEL has to be one of ${LOG_LEVELS.join(', ')}.`)
  const mongodbUrl = text('MONGODB_URL')
  const mongodbFault = mongodbUrl === null ? null : faultOfMongoUrl(mongodbUrl)
  if (mongodbFault !== null) problems.push(`MONGODB_URL ${mongodbFault}`)
  const metricsToken = text('METRICS_TOKEN')
  if (metricsToken !== null && !/^[\x21-\x7e]{16,256}$/.test(metricsToken))
    problems.push('METRICS_TOKEN has to be 16 to 256 visible ASCII characters.')

  const config: Config = {
    port: whole('PORT', 8787, 0, 65_535),
    host,
    dataDir: resolve(text('DATA_DIR') ?? 'data'),
    mongodbUrl,
    issuer,
    permitAudience: text('PERMIT_AUDIENCE'),
    logLevel,
    bootstrapKey,
    metricsToken,
    rateLimitPerSecond: whole('RATE_LIMIT_PER_SECOND', 1000, 0, 1_000_000),
    // A permit lives as long as its decision, and a verifier takes none that lives over an hour.
    decisionTtlSeconds: whole('DECISION_TTL_SECONDS', 300, 1, 3600),
    reviewTtlSeconds: whole('REVIEW_TTL_SECONDS', DAY_SECONDS, 1, 365 * DAY_SECONDS),
    approvalTtlSeconds: whole('APPROVAL_TTL_SECONDS', 3600, 1, 30 * DAY_SECONDS),
    maxOpenReviews: whole('MAX_OPEN_REVIEWS', 100, 0, 1_000_000),
    maxOpenReviewsPerKey: whole('MAX_OPEN_REVIEWS_PER_KEY', 1000, 0, 1_000_000),
    maxEvaluationSteps: whole('MAX_EVALUATION_STEPS', LIMITS.evaluationSteps, 1000, 10_000_000),
    maxConnections: whole('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    // A decision can be settled for 30 days after its end.
    retentionDays: text('RETENTION_DAYS') === null ? null : whole('RETENTION_DAYS', 0, 31, 36_500),
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === '' && !/[?#]/.test(text)
}
