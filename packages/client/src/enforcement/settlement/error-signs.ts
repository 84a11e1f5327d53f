/**
 * What one error says about the action that it ended: its codes, names and words, its causes aside.
 *
 * Refusals are known by codes alone. Words can only make an answer doubtful: whoever writes a text into an error can hold a
 * budget, and never free one.
 */

/**
 * - `lost`: the action may have been done: time ran out, a connection broke off, a server failed, an answer was cut;
 * - `transport`: it has to do with a connection, and does not say whether anything was sent: its causes may;
 * - `refused`: surely nothing was done: there was no connection, or the other side said no;
 * - `none`: the error of a program about something else.
 */
export type ErrorSign = 'lost' | 'transport' | 'refused' | 'none'

/** What can be closed, lost or cut off while an answer is awaited. */
const LINE =
  '(?:connection|socket|client|pool|channel|stream|session|topology|server|transport|pipe|peer|remote|side|cursor|database|request|response|reply|answer|tunnel)s?'

/** Names of classes, codes and types, in whichever spelling: `TimeoutError`, `ETIMEDOUT`, `request-timeout`. */
const LOST_NAME = anyOf([
  'time[-_]?d?[-_]?out',
  'deadline',
  'abort',
  '^(?:err_)?cancell?(?:ed)?(?:_?error|_?exception)?$',
  '(?:conn|net)\\w*reset',
  'retr(?:y|ies|ied)',
  'premature',
  'hang_?up',
  'disconnect',
  'terminat',
  'interrupt',
  'overload',
  'unavailable',
  'internal_?(?:server|service)?_?(?:error|failure|exception)',
  '(?:server|api)_error$',
  'gateway',
  '^e(?:pipe|shutdown|notconn|proto)$',
  `${LINE}_?(?:is_?|was_?)?(?:unexpectedly_?)?(?:closed|ended|destroyed|lost|dropped|cleared)`,
  'not_?connected',
  'http2',
  '^hpe_',
  '^z_\\w+_error$',
  '^err_stream_',
  '^err_bad_response$',
  '^und_err_(?!invalid_arg)',
  'pars(?:e|er|ing)_?(?:error|exception)$',
  'deserializ',
  '^syntaxerror$',
  'invalid-json',
  'idempoten',
  'protocol_?(?!error$)\\w*(?:packet|sequence|order)',
  // A write that was taken, or in part, before it failed.
  'write_?concern',
  'bulk_?write',
  'unknowntransactioncommitresult',
  // Their libraries try again by themselves, and do not say whether this was the first try.
  '^api_?connection_?error$',
  'serverselection',
  'no_?host_?available',
  'retryablewrite',
])
const TRANSPORT_NAME = anyOf([
  'conn(?:$|ect|_|[a-z]*(?:refused|aborted))',
  'socket',
  'network',
  'fetch',
  'transport',
  'pool',
  'topology',
  'cluster',
  'protocol',
  '^e(?:net|host|addr)',
])

const LOST_WORDS = anyOf([
  'tim(?:e|ed|ing)[ -]?out',
  'deadline',
  '\\bretr(?:y|ies|ied|ying)\\b',
  '\\b(?:\\d+|all|max\\w*) (?:attempts|tries)\\b',
  'h[au]ng ?up',
  '\\babort',
  'terminated',
  '\\breset\\b',
  'premature',
  'truncat',
  'unexpected(?:ly)? (?:end|clos|eof|token|response|server|packet|non-whitespace)',
  'broken pipe',
  'cut (?:off|short)',
  'disconnect',
  'interrupted',
  'incomplete',
  '\\beof\\b',
  'end[- ]of[- ](?:file|stream|input)',
  // A process or a thread that somebody or something ended.
  '\\bexited before\\b',
  '\\b(?:worker|thread)s?(?: \\w+)? (?:exited|died)',
  '\\b(?:crashed|killed)\\b',
  'no (?:reply|response|answer)',
  'lost (?:connection|contact)',
  `\\b${LINE}(?: (?:is|was|were|has|have|had|been|got|already|unexpectedly|the|by|in|state|handle))* (?:clos|end|destroy|lost|drop|gone|broke|cut|down|shut)`,
  '^closed\\.?$',
  `\\bclosed (?:the |its |this )?${LINE}\\b`,
  `\\b(?:${LINE}|call|query|statement|operation|command)(?: was| has been| is)? cancell?ed`,
  'internal (?:server )?error',
  '\\bserver error',
  'bad gateway',
  'overloaded',
  '(?:service|server|temporarily|currently)(?: is)?(?: temporarily| currently)? unavailable',
  // "the bank answered 503", "HTTP 502", "status code: 500".
  '\\b(?:http|status|code|answer|respon|return|repl)\\w*:?(?: (?:with|code|status|of|is|was|a|an|error)){0,3}[ :=]+"?(?:5\\d\\d|408|409|425|429)\\b',
  '\\b5\\d\\d (?:internal|bad|service|gateway)',
])
const TRANSPORT_WORDS = anyOf([
  '\\bconnect(?:ion|ing|ed)?s?\\b',
  '\\bsockets?\\b',
  'network',
  'fetch failed',
  'failed to fetch',
  'load failed',
  '\\bpool\\b',
  'unreachable',
  'upstream',
  '\\btransport\\b',
  'handshake',
  'topology',
])

/** No connection, wherever the code stands. */
const UNCONNECTED = /^(?:ECONNREFUSED|ENOTFOUND|EAI_[A-Z]+)$/
/** No connection, where it was the call `connect` that failed. */
const UNCONNECTABLE = /^(?:ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|ENOENT|EACCES)$/
/** As a library tells that took the code away. */
const CONNECT_FAILED = /^connect (?:ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN)\b/
/** The call that looks a name up. */
const LOOKING_UP = /^(?:getaddrinfo|query[A-Z]\w*)$/
/** A certificate that the client does not take: it sends nothing to such a server. */
const UNTRUSTED =
  /^(?:CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|HOSTNAME_MISMATCH|INVALID_CA|ERR_TLS_CERT_ALTNAME_INVALID)$/
/** What Node itself says of a call that failed, with a name that may hold any word. */
const OWN_WORDS_OF_NODE = /^(\w+) E[A-Z_]+(?: \S+)?$/

/** Answers of HTTP that say no to this try, and nothing about one before it. */
const DOUBTFUL_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429, 499])
/** Classes of libraries that try again by themselves and do not say so: of OpenAI, Anthropic and their like, Azure, ioredis. */
const SILENT_RETRIERS = /^(?:APIError|RestError|ReplyError)$/
const STRIPE_ERROR = /^Stripe\w*Error$/
/**
 * Stripe's library sends the same idempotency key with each try, so these answers are about all of them. Others are given
 * before the key is looked up, or to a call that has none.
 */
const STRIPE_REFUSALS: ReadonlySet<number> = new Set([400, 402])
/** Of gRPC: an argument, a name, a right, a state, a range or a method that cannot be. */
const GRPC_REFUSALS: ReadonlySet<unknown> = new Set([3, 5, 7, 9, 11, 12, 16])
/** What a shell exits with where the program it ran was ended by a signal begins here. */
const SHELL_SIGNALLED = 128
/** What `timeout` exits with where it ended the program it ran. */
const TIMED_OUT = 124

/** Nobody reads longer texts: whoever fills one up may hide what it says. */
const MAX_TEXT = 10_000
const MAX_NAME = 200

type Members = Readonly<Record<string, unknown>>

/** @throws whatever an error throws that does not want to be looked at */
export function signOf(error: object): ErrorSign {
  const at = error as Members
  const { message, code, details, syscall } = at
  const names = namesOf(at)
  const tries = triesOf(at)
  const refused: ErrorSign = tries !== undefined && tries > 1 ? 'lost' : 'refused'

  if (names.some((name) => name.length > MAX_NAME || LOST_NAME.test(name)) || isKilled(at)) return 'lost'
  const status = statusOf(at)
  if (tries === undefined && mayHaveTriedBefore(at, names, status)) return 'lost'
  if (status !== undefined) {
    if (status < 400 || status >= 500) return 'lost'
    return DOUBTFUL_STATUSES.has(status) && tries !== 1 ? 'lost' : refused
  }
  if (typeof details === 'string' && typeof code === 'number' && code >= 0 && code <= 16) {
    return GRPC_REFUSALS.has(code) && isOnlyTryOfGrpc(at) ? refused : 'lost'
  }
  const sign = isOfNode(syscall, message) ? 'none' : signOfText(message)
  if (sign === 'lost') return 'lost'
  if (isUnsent(names, syscall, message)) return refused
  if (sign === 'transport' || typeof syscall === 'string' || names.some((name) => TRANSPORT_NAME.test(name)))
    return 'transport'
  return 'none'
}

/** A process that was ended, by Node's own `timeout` too: it may have been done with what it was to do. */
function isKilled({ killed, signal, cmd, code }: Members): boolean {
  if (killed === true || typeof signal === 'string') return true
  return typeof cmd === 'string' && typeof code === 'number' && (code > SHELL_SIGNALLED || code === TIMED_OUT)
}

/** Whether it is of a library that tries again by itself, and whose errors do not count the tries. */
function mayHaveTriedBefore(at: Members, names: readonly string[], status: number | undefined): boolean {
  if (names.some((name) => STRIPE_ERROR.test(name))) return status !== undefined && !STRIPE_REFUSALS.has(status)
  // What tells them where a bundler has shortened the names of classes.
  const isBare = 'requestID' in at || Array.isArray(membersOf(at.command).args)
  return isBare || names.some((name) => SILENT_RETRIERS.test(name))
}

/**
 * gRPC counts earlier tries in the metadata of the first answer. That is in the error only where the answer was a refusal and
 * nothing else: then it holds the head of the answer, with its content type.
 */
function isOnlyTryOfGrpc({ metadata }: Members): boolean {
  if (typeof metadata !== 'object' || metadata === null) return true
  const { get } = metadata as Members
  if (typeof get !== 'function') return true
  const has = (name: string): boolean => membersOf(get.call(metadata, name)).length !== 0
  return has('content-type') && !has('grpc-previous-rpc-attempts')
}

function isOfNode(syscall: unknown, message: unknown): boolean {
  if (typeof syscall !== 'string' || typeof message !== 'string') return false
  return OWN_WORDS_OF_NODE.exec(message)?.[1] === syscall
}

/** What a text says, of an error or thrown in place of one. */
export function signOfText(text: unknown): ErrorSign {
  if (typeof text !== 'string') return 'none'
  if (text.length > MAX_TEXT || LOST_WORDS.test(text)) return 'lost'
  return TRANSPORT_WORDS.test(text) ? 'transport' : 'none'
}

/** Nothing was sent on the connection that there never was. */
function isUnsent(names: readonly string[], syscall: unknown, message: unknown): boolean {
  if (typeof syscall === 'string' && LOOKING_UP.test(syscall)) return true
  if (syscall === 'connect')
    return (
      names.some((name) => UNCONNECTABLE.test(name)) || (typeof message === 'string' && CONNECT_FAILED.test(message))
    )
  return syscall === undefined && names.some((name) => UNCONNECTED.test(name) || UNTRUSTED.test(name))
}

/** Its names, codes, types and labels, and the names of its classes. */
function namesOf(at: Members): string[] {
  const { name, code, errno, type, rawType, errorLabels } = at
  const labels = Array.isArray(errorLabels) ? errorLabels : []
  return [name, code, errno, type, rawType, ...classesOf(at), ...labels.slice(0, MOST_NAMES)].filter(
    (one): one is string => typeof one === 'string',
  )
}

const MOST_CLASSES = 16
const MOST_NAMES = 64

function classesOf(at: object): unknown[] {
  const names: unknown[] = []
  let prototype: unknown = Object.getPrototypeOf(at)
  while (typeof prototype === 'object' && prototype !== null && names.length < MOST_CLASSES) {
    if (Object.hasOwn(prototype, 'constructor')) names.push(Object(prototype.constructor).name)
    prototype = Object.getPrototypeOf(prototype)
  }
  return names
}

/** How often it was tried, where the library says so: AWS, got, axios-retry, gaxios, p-retry, Octokit, superagent. */
function triesOf(at: Members): number | undefined {
  const config = membersOf(at.config)
  const tries = [membersOf(at.$metadata).attempts, at.attempts, at.attemptNumber]
  const retries = [
    at.retryCount,
    membersOf(at.request).retryCount,
    membersOf(membersOf(at.request).request).retryCount,
    membersOf(config['axios-retry']).retryCount,
    membersOf(config.retryConfig).currentRetryAttempt,
    // None may also mean that none is left.
    at.retries === 0 ? undefined : at.retries,
  ]
  const counts = [...tries, ...retries.map((count) => (typeof count === 'number' ? count + 1 : undefined))]
  return counts.reduce<number | undefined>(
    (most, count) => (typeof count === 'number' ? Math.max(most ?? 0, count) : most),
    undefined,
  )
}

/** The status of HTTP that was answered. */
function statusOf(at: Members): number | undefined {
  const response = membersOf(at.response)
  const said = [at.status, at.statusCode, response.status, response.statusCode, membersOf(at.$metadata).httpStatusCode]
  const isStatus = (status: unknown): status is number => typeof status === 'number' && status >= 100 && status < 600
  return said.find(isStatus) ?? (isStatus(at.code) && at.code >= 400 ? at.code : undefined)
}

function membersOf(value: unknown): Members {
  return Object(value) as Members
}

function anyOf(patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join('|'), 'i')
}
