/**
 * What one error says about the action that it ended, by its codes, names and words, without its causes.
 *
 * Only codes prove a refusal. Words can only make an answer doubtful: a text that an attacker writes into an error can hold a
 * budget, but never free one.
 */
import { isProgramFault, PROGRAM_FAULT_WORDS } from './program-faults.js'

/**
 * - `lost`: the action may have been done: a timeout, a lost connection, a failed server, an answer that was cut off;
 * - `transport`: it is about a connection, and does not say whether anything was sent; its causes may;
 * - `refused`: surely nothing was done: there was no connection, or the other side said no;
 * - `none`: an error about something else.
 */
export type ErrorSign = 'lost' | 'transport' | 'refused' | 'none'

/** What can be closed, lost or cut off before the answer arrives. */
const LINE =
  '(?:connection|socket|client|pool|channel|stream|session|topology|server|transport|pipe|peer|remote|side|cursor|database|request|response|reply|answer|tunnel)s?'

/** Names of classes, codes and types in any spelling, also within a text: `TimeoutError`, `ETIMEDOUT`. */
const LOST_NAME = anyOf([
  'time[-_]?d?[-_]?out',
  'deadline',
  'abort',
  '^(?:err_|e)?cancell?(?:ed)?(?:_?error|_?exception)?$',
  '(?:call|query|statement|operation|request)_?cancell?ed',
  '(?:conn|net)\\w*(?:reset|closed)',
  'retr(?:y|ies|ied)',
  'premature',
  'hang_?up',
  'disconnect',
  'terminat',
  'interrupt',
  'overload',
  'unavailable',
  'shut_?down',
  'too_?many_?requests',
  'rate_?limit',
  'payment_?required',
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
  '^ws_err_',
  '^(?:close|error)_?event$',
  '^und_err_(?!invalid_arg)',
  'pars(?:e|er|ing)_?(?:error|exception)$',
  'deserializ',
  '^syntaxerror$',
  'invalid-json',
  'idempoten',
  'protocol_?(?!error$)\\w*(?:packet|sequence|order)',
  // SQLSTATE: the connection, a statement with an unknown end, and a server or a person that ended it.
  '^(?:08\\w{3}|40003|57014|57p0\\w)$',
  // A program wrote more than Node reads.
  'maxbuffer',
  '^enobufs$',
  // A write that succeeded, or in part, before it failed.
  'write_?concern',
  'bulk_?write',
  'unknowntransactioncommitresult',
  // These libraries retry by themselves, and do not say whether this was the first try.
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
  '^e(?:net|host|addr|notfound|ai_)',
])

const LOST_WORDS = anyOf([
  'tim(?:e|ed|ing)[ -]?out',
  'deadline',
  '\\bretr(?:y|ies|ied|ying)\\b',
  '\\b(?:\\d+|all|max\\w*) (?:attempts|tries)\\b',
  '\\b(?:took|takes|taking|waited|waiting) too long\\b',
  'too many requests',
  'h[au]ng ?up',
  '\\babort',
  'terminated',
  '\\breset\\b',
  'premature',
  'truncat',
  '\\bpars(?:e|er|ing)[ -](?:error|failure)',
  'unexpected(?:ly)? (?:end|clos|eof|token|response|server|packet|non-whitespace)',
  'broken pipe',
  'cut (?:off|short)',
  'disconnect',
  'interrupted',
  'incomplete',
  '\\beof\\b',
  'end[- ]of[- ](?:file|stream|input)',
  // A process or a thread that was ended.
  '\\bexited before\\b',
  '\\b(?:worker|thread)s?(?: \\w+)? (?:exited|died)',
  '\\b(?:crashed|killed)\\b',
  '\\b(?:no|empty) (?:reply|response|answer)',
  "\\b(?:did not|didn't|does not|doesn't|not|never) (?:respond|answer)(?:ed|ing)?\\b",
  '\\binvalid (?:response|reply)\\b',
  'lost (?:connection|contact)',
  `\\b${LINE}(?: (?:is|was|were|has|have|had|been|got|already|unexpectedly|the|by|in|state|handle))* (?:clos|end|destroy|lost|drop|gone|broke|cut|down|shut)`,
  '^(?:closed|cancell?ed)\\.?$',
  `\\bclosed (?:the |its |this )?${LINE}\\b`,
  `\\b(?:${LINE}|call|query|statement|operation|command)(?: was| has been| is)? cancell?ed`,
  'internal (?:server )?error',
  '\\bserver error',
  'bad gateway',
  'overloaded',
  '(?:service|server|temporarily|currently)(?: is)?(?: temporarily| currently)? unavailable',
  // "the bank answered 503", "HTTP 502", "status code: 500", "Error 503".
  '^5\\d\\d$',
  '\\b(?:http|error|status|code|answer|respon|return|repl)\\w*:?(?: (?:with|code|status|of|is|was|a|an|error)){0,3}[ :=]+"?(?:5\\d\\d|402|408|409|425|429)\\b',
  '\\b5\\d\\d (?:internal|bad|service|gateway)',
  '\\bpayment[- ]required\\b',
  ...PROGRAM_FAULT_WORDS,
])
const TRANSPORT_WORDS = anyOf([
  '\\bconnect(?:ion|ing|ed)?s?\\b',
  'sockets?\\b',
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

/** Codes and names of classes within a text. */
const NAMES_IN_TEXT = /\b(?:[A-Z][A-Z\d_]+|\w+(?:Error|Exception))\b/g

/** There was no connection, whatever call failed. */
const UNCONNECTED = /^(?:ECONNREFUSED|ENOTFOUND|EAI_[A-Z]+)$/
/** There was no connection, if the call `connect` failed. */
const UNCONNECTABLE = /^(?:ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|ENOENT|EACCES)$/
/** The text of libraries that remove the code. */
const CONNECT_FAILED = /^connect (?:ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN)\b/
/** Calls that look up a name. */
const LOOKING_UP = /^(?:getaddrinfo|query[A-Z]\w*)$/
/** Certificates that the client rejects: it sends nothing to such a server. */
const UNTRUSTED =
  /^(?:CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|HOSTNAME_MISMATCH|INVALID_CA|ERR_TLS_CERT_ALTNAME_INVALID)$/
/** Calls that begin something only on this machine: a program, or the use of a file. */
const LOCAL_CALL =
  /^(?:spawn(?:Sync)?\b|(?:access|chmod|chown|copyfile|cp|link|lstat|mkdir|mkdtemp|open|opendir|readlink|realpath|rename|rm|rmdir|scandir|stat|symlink|unlink|utime)$)/
/** Their codes if they have not begun. */
const NOT_BEGUN =
  /^(?:E2BIG|EACCES|EEXIST|EISDIR|ELOOP|EMFILE|ENAMETOOLONG|ENFILE|ENOENT|ENOEXEC|ENOTDIR|ENOTEMPTY|EPERM|EROFS|EXDEV)$/
/** The text of Node for a failed call, with a name that may contain any word. */
const OWN_WORDS_OF_NODE = /^(\w+) E[A-Z_]+(?: \S+)?$/

/** HTTP answers that refuse this try, and say nothing about an earlier one. */
const DOUBTFUL_STATUSES: ReadonlySet<number> = new Set([409, 425, 429])
/**
 * HTTP answers for a timeout, for a caller that did not wait, and for a missing payment: over x402 the last one also answers
 * a payment that may have been booked.
 */
const LOST_STATUSES: ReadonlySet<number> = new Set([402, 408, 499])
/** Where libraries keep an answer, and their names for its status. */
const ANSWERS = ['response', 'res', 'output', 'meta', '$metadata']
const STATUSES = ['status', 'statusCode', 'status_code', 'httpStatus', 'http_status', 'httpStatusCode', 'httpCode']
/** Where they keep what the other side wrote. That cannot refuse. */
const WRITTEN = ['body', 'data', 'error', 'extensions', 'raw']
/** Errors of libraries that retry without saying so: of OpenAI, Anthropic and similar ones, Azure, ioredis. */
const SILENT_RETRIERS = /^(?:APIError|RestError|ReplyError)$/
const STRIPE_ERROR = /^Stripe\w*Error$/
/** Stripe's error for a 402: the card was declined, so nothing was booked. */
const DECLINED_CARD = 'StripeCardError'
/**
 * Stripe's library sends the same idempotency key with each try, so these answers are about all tries. Other answers come
 * before Stripe looks up the key, or for a call without one.
 */
const STRIPE_REFUSALS: ReadonlySet<number> = new Set([400, 402])
/** Of gRPC: an invalid argument, name, permission, state, range or method. */
const GRPC_REFUSALS: ReadonlySet<unknown> = new Set([3, 5, 7, 9, 11, 12, 16])
/** Of JSON-RPC: an unknown method, or invalid params. */
const JSON_RPC_REFUSALS: ReadonlySet<unknown> = new Set([-32601, -32602])
/**
 * Of MongoDB, which recognizes a repeated write by its number: an invalid value, document, name or key. Other codes may be
 * about the second try alone, such as that the server is no longer the primary, or that it refuses the login.
 */
const MONGODB_REFUSALS: ReadonlySet<unknown> = new Set([2, 9, 14, 22, 26, 28, 52, 56, 57, 66, 72, 121, 10334, 11000])
/** Longer texts are not read: padding could hide what they say. */
const MAX_TEXT = 10_000
const MAX_NAME = 200

type Members = Readonly<Record<string, unknown>>

/** @throws what the getters of the error throw */
export function signOf(error: object): ErrorSign {
  const at = error as Members
  const { message, code, syscall } = at
  const names = namesOf(at)
  const tries = triesOf(at)
  const refused: ErrorSign = tries !== undefined && tries > 1 ? 'lost' : 'refused'

  if (names.some(isLostName) || isOfProcess(at)) return 'lost'
  // fetch throws a TypeError without a connection. One of its causes may say that nothing was sent.
  if (names.some(isProgramFault)) return signOfText(message) === 'transport' ? 'transport' : 'lost'
  const statuses = statusesOf(at)
  if (tries === undefined && mayHaveTriedBefore(at, names, statuses)) return 'lost'
  const answered = [...statuses, ...writtenStatusesOf(at)]
  const isDeclined = (status: number): boolean => status === 402 && names.includes(DECLINED_CARD)
  if (answered.some((status) => isLostStatus(status, tries) && !isDeclined(status))) return 'lost'
  if (statuses.length > 0) return refused
  if (isOfGrpc(at)) return GRPC_REFUSALS.has(code) && isOnlyTryOfGrpc(at) ? refused : 'lost'
  const sign = isOfNode(syscall, message) ? 'none' : signOfText(message)
  if (sign === 'lost') return 'lost'
  if (isUnsent(at) || isNotBegun(at)) return refused
  if (
    sign === 'transport' ||
    typeof syscall === 'string' ||
    isNamelessCall(at) ||
    (names.some((name) => TRANSPORT_NAME.test(name)) && !isRefusalOfJsonRpc(at))
  )
    return 'transport'
  return 'none'
}

function isLostName(name: string): boolean {
  return name.length > MAX_NAME || LOST_NAME.test(name)
}

/** A program that began and failed: by a signal, by the `timeout` of Node, or by itself. It is unknown what it did before. */
function isOfProcess({ killed, timedOut, signal, exitCode, status, cmd, code }: Members): boolean {
  if (killed === true || timedOut === true || typeof signal === 'string' || typeof exitCode === 'number') return true
  return (typeof cmd === 'string' && typeof code === 'number') || (signal === null && typeof status === 'number')
}

/** Whether it comes from a library that retries by itself, and whose errors do not count the tries. */
function mayHaveTriedBefore(at: Members, names: readonly string[], statuses: readonly number[]): boolean {
  if (names.some((name) => STRIPE_ERROR.test(name))) return statuses.some((status) => !STRIPE_REFUSALS.has(status))
  if (names.includes('MongoServerError')) return !MONGODB_REFUSALS.has(at.code)
  if (mayKyHaveTriedBefore(at)) return true
  // Recognizes these libraries if a bundler has shortened the names of classes.
  const isBare = 'requestID' in at || Array.isArray(membersOf(at.command).args)
  return isBare || names.some((name) => SILENT_RETRIERS.test(name))
}

/** ky says how often it would have tried, and for which methods. */
function mayKyHaveTriedBefore({ options, request }: Members): boolean {
  const { limit, methods } = membersOf(membersOf(options).retry)
  if (!Array.isArray(methods) || limit === 0) return false
  const { method } = membersOf(request)
  return typeof method !== 'string' || methods.includes(method.toLowerCase())
}

/** Whether it comes from @grpc/grpc-js or ConnectRPC. */
function isOfGrpc({ code, details, rawMessage }: Members): boolean {
  if (typeof code !== 'number' || code < 0 || code > 16) return false
  return typeof details === 'string' || typeof rawMessage === 'string'
}

/**
 * gRPC counts earlier tries in the metadata of the first answer. The error contains them only if the whole answer was a
 * refusal: they then have the content type of the answer.
 */
function isOnlyTryOfGrpc({ metadata }: Members): boolean {
  if (typeof metadata !== 'object' || metadata === null) return true
  const { get } = metadata as Members
  if (typeof get !== 'function') return true
  const has = (name: string): boolean => !isEmpty(get.call(metadata, name))
  return has('content-type') && !has('grpc-previous-rpc-attempts')
}

/** As the SDKs of the Model Context Protocol throw it: an answer, and no fault of the connection. */
function isRefusalOfJsonRpc({ name, code }: Members): boolean {
  return name === 'ProtocolError' && JSON_RPC_REFUSALS.has(code)
}

/** A missing header: an empty list in gRPC, null in ConnectRPC. */
function isEmpty(said: unknown): boolean {
  return said === null || said === undefined || membersOf(said).length === 0
}

function isOfNode(syscall: unknown, message: unknown): boolean {
  if (typeof syscall !== 'string' || typeof message !== 'string') return false
  return OWN_WORDS_OF_NODE.exec(message)?.[1] === syscall
}

/** The sign of the text of an error, or of a text that was thrown. */
export function signOfText(text: unknown): ErrorSign {
  if (typeof text !== 'string') return 'none'
  if (text.length > MAX_TEXT || LOST_WORDS.test(text)) return 'lost'
  const names = text.match(NAMES_IN_TEXT) ?? []
  if (names.some(isLostName)) return 'lost'
  if (TRANSPORT_WORDS.test(text) || names.some((name) => TRANSPORT_NAME.test(name))) return 'transport'
  return names.some(isProgramFault) ? 'lost' : 'none'
}

/** The operating system of this machine did not begin the call. */
function isNotBegun(at: Members): boolean {
  return typeof at.syscall === 'string' && LOCAL_CALL.test(at.syscall) && hasCode(at, NOT_BEGUN)
}

/** A failed call of the operating system, of which only the number is left. */
function isNamelessCall({ code, errno }: Members): boolean {
  return typeof errno === 'number' && errno < 0 && typeof code !== 'string'
}

/** Nothing was sent, because there was no connection. */
function isUnsent(at: Members): boolean {
  const { syscall, message } = at
  if (typeof syscall === 'string' && LOOKING_UP.test(syscall)) return true
  if (syscall === 'connect')
    return hasCode(at, UNCONNECTABLE) || (typeof message === 'string' && CONNECT_FAILED.test(message))
  return syscall === undefined && (hasCode(at, UNCONNECTED) || hasCode(at, UNTRUSTED))
}

function hasCode({ code, errno }: Members, codes: RegExp): boolean {
  return [code, errno].some((one) => typeof one === 'string' && codes.test(one))
}

/** Where libraries keep names and codes. */
const NAMES = ['name', 'code', 'errno', 'errorCode', 'errorType', 'kind', 'rawType', 'sqlState', 'sqlstate', 'type']

/** Its names, codes, types and labels, with the names of its classes. */
function namesOf(at: Members): string[] {
  const { errorLabels } = at
  const labels = Array.isArray(errorLabels) ? errorLabels : []
  return [...NAMES.map((name) => at[name]), ...classesOf(at), ...labels.slice(0, MOST_NAMES)].filter(
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

/** How often it was tried, if the library says so: AWS, got, axios-retry, gaxios, p-retry, Octokit, superagent. */
function triesOf(at: Members): number | undefined {
  const config = membersOf(at.config)
  const tries = [membersOf(at.$metadata).attempts, at.attempts, at.attemptNumber]
  const retries = [
    at.retryCount,
    membersOf(at.request).retryCount,
    membersOf(membersOf(at.request).request).retryCount,
    membersOf(config['axios-retry']).retryCount,
    membersOf(config.retryConfig).currentRetryAttempt,
    // 0 may also mean that no retries are left.
    at.retries === 0 ? undefined : at.retries,
  ]
  const counts = [...tries, ...retries.map((count) => (typeof count === 'number' ? count + 1 : undefined))]
  return counts.reduce<number | undefined>(
    (most, count) => (typeof count === 'number' ? Math.max(most ?? 0, count) : most),
    undefined,
  )
}

/** All HTTP statuses of the answer: if two differ, the worse one counts. */
function statusesOf(at: Members): number[] {
  const code = statusOf(at.code)
  const answered = [at, ...ANSWERS.map((name) => membersOf(at[name]))].flatMap(statusesIn)
  return code !== undefined && code >= 400 ? [code, ...answered] : answered
}

function writtenStatusesOf(at: Members): number[] {
  return WRITTEN.flatMap((name) => statusesIn(membersOf(at[name]))).filter((status) => status >= 400)
}

function statusesIn(answer: Members): number[] {
  return STATUSES.map((name) => statusOf(answer[name])).filter((status) => status !== undefined)
}

/** Includes 0, the status in a browser without an answer. */
function statusOf(said: unknown): number | undefined {
  const status = typeof said === 'string' && /^\d{3}$/.test(said) ? Number(said) : said
  return typeof status === 'number' && (status === 0 || (status >= 100 && status < 600)) ? status : undefined
}

function isLostStatus(status: number, tries: number | undefined): boolean {
  if (status < 400 || status >= 500 || LOST_STATUSES.has(status)) return true
  return DOUBTFUL_STATUSES.has(status) && tries !== 1
}

function membersOf(value: unknown): Members {
  return Object(value) as Members
}

function anyOf(patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join('|'), 'i')
}
