/**
 * What one error says about the action that it ended: its codes, names and words, its causes aside.
 *
 * Refusals are known by codes alone. Words can only make an answer doubtful: somebody who writes a text into an error can hold a
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

/** Names of classes, codes and types, in whichever spelling, and those that stand in a text: `TimeoutError`, `ETIMEDOUT`. */
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
  // SQLSTATE: the connection, a statement that nobody knows the end of, a server or a person that ended it.
  '^(?:08\\w{3}|40003|57014|57p0\\w)$',
  // More than Node was ready to read of a program.
  'maxbuffer',
  '^enobufs$',
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
  // A process or a thread that somebody or something ended.
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
  '\\b(?:http|error|status|code|answer|respon|return|repl)\\w*:?(?: (?:with|code|status|of|is|was|a|an|error)){0,3}[ :=]+"?(?:5\\d\\d|408|409|425|429)\\b',
  '\\b5\\d\\d (?:internal|bad|service|gateway)',
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

/** What looks like a code or the name of a class in a text. */
const NAMES_IN_TEXT = /\b(?:[A-Z][A-Z\d_]+|\w+(?:Error|Exception))\b/g

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
/** Calls that begin something on this machine alone: a program, or the use of a file. */
const LOCAL_CALL =
  /^(?:spawn(?:Sync)?\b|(?:access|chmod|chown|copyfile|cp|link|lstat|mkdir|mkdtemp|open|opendir|readlink|realpath|rename|rm|rmdir|scandir|stat|symlink|unlink|utime)$)/
/** Why they have not begun. */
const NOT_BEGUN =
  /^(?:E2BIG|EACCES|EEXIST|EISDIR|ELOOP|EMFILE|ENAMETOOLONG|ENFILE|ENOENT|ENOEXEC|ENOTDIR|ENOTEMPTY|EPERM|EROFS|EXDEV)$/
/** What Node itself says of a call that failed, with a name that may hold any word. */
const OWN_WORDS_OF_NODE = /^(\w+) E[A-Z_]+(?: \S+)?$/

/** Answers of HTTP that say no to this try, and nothing about one before it. */
const DOUBTFUL_STATUSES: ReadonlySet<number> = new Set([409, 425, 429])
/** Answers of HTTP that say that time ran out, or that somebody did not wait. */
const LOST_STATUSES: ReadonlySet<number> = new Set([408, 499])
/** Where libraries keep what was answered, and what they call its status. */
const ANSWERS = ['response', 'res', 'output', 'meta', '$metadata']
const STATUSES = ['status', 'statusCode', 'status_code', 'httpStatus', 'http_status', 'httpStatusCode', 'httpCode']
/** Where they keep what the other side wrote: that cannot refuse. */
const WRITTEN = ['body', 'data', 'error', 'extensions', 'raw']
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
/** Of JSON-RPC: a method or params that cannot be. */
const JSON_RPC_REFUSALS: ReadonlySet<unknown> = new Set([-32601, -32602])
/**
 * Of MongoDB, which knows a write that comes again by its number: a value, a document, a name or a key that cannot be. All else
 * may be said to the second try alone: that its server is no primary any more, or does not let it in.
 */
const MONGODB_REFUSALS: ReadonlySet<unknown> = new Set([2, 9, 14, 22, 26, 28, 52, 56, 57, 66, 72, 121, 10334, 11000])
/** Longer texts are not read: somebody could fill one up to hide what it says. */
const MAX_TEXT = 10_000
const MAX_NAME = 200

type Members = Readonly<Record<string, unknown>>

/** @throws whatever an error throws that does not want to be looked at */
export function signOf(error: object): ErrorSign {
  const at = error as Members
  const { message, code, syscall } = at
  const names = namesOf(at)
  const tries = triesOf(at)
  const refused: ErrorSign = tries !== undefined && tries > 1 ? 'lost' : 'refused'

  if (names.some(isLostName) || isOfProcess(at)) return 'lost'
  const statuses = statusesOf(at)
  if (tries === undefined && mayHaveTriedBefore(at, names, statuses)) return 'lost'
  if ([...statuses, ...writtenStatusesOf(at)].some((status) => isLostStatus(status, tries))) return 'lost'
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

/** A program that began and came to a bad end: by a signal, by Node's own `timeout`, or by itself. Nobody knows what it did first. */
function isOfProcess({ killed, timedOut, signal, exitCode, status, cmd, code }: Members): boolean {
  if (killed === true || timedOut === true || typeof signal === 'string' || typeof exitCode === 'number') return true
  return (typeof cmd === 'string' && typeof code === 'number') || (signal === null && typeof status === 'number')
}

/** Whether it is of a library that tries again by itself, and whose errors do not count the tries. */
function mayHaveTriedBefore(at: Members, names: readonly string[], statuses: readonly number[]): boolean {
  if (names.some((name) => STRIPE_ERROR.test(name))) return statuses.some((status) => !STRIPE_REFUSALS.has(status))
  if (names.includes('MongoServerError')) return !MONGODB_REFUSALS.has(at.code)
  if (mayKyHaveTriedBefore(at)) return true
  // What tells them where a bundler has shortened the names of classes.
  const isBare = 'requestID' in at || Array.isArray(membersOf(at.command).args)
  return isBare || names.some((name) => SILENT_RETRIERS.test(name))
}

/** ky says how often it would have tried, and of which methods. */
function mayKyHaveTriedBefore({ options, request }: Members): boolean {
  const { limit, methods } = membersOf(membersOf(options).retry)
  if (!Array.isArray(methods) || limit === 0) return false
  const { method } = membersOf(request)
  return typeof method !== 'string' || methods.includes(method.toLowerCase())
}

/** Of @grpc/grpc-js or of ConnectRPC. */
function isOfGrpc({ code, details, rawMessage }: Members): boolean {
  if (typeof code !== 'number' || code < 0 || code > 16) return false
  return typeof details === 'string' || typeof rawMessage === 'string'
}

/**
 * gRPC counts earlier tries in the metadata of the first answer. That is in the error only where the answer was a refusal and
 * nothing else: then it holds the head of the answer, with its content type.
 */
function isOnlyTryOfGrpc({ metadata }: Members): boolean {
  if (typeof metadata !== 'object' || metadata === null) return true
  const { get } = metadata as Members
  if (typeof get !== 'function') return true
  const has = (name: string): boolean => !isEmpty(get.call(metadata, name))
  return has('content-type') && !has('grpc-previous-rpc-attempts')
}

/** As the SDKs of the Model Context Protocol throw them: an answer, and not a fault of the line. */
function isRefusalOfJsonRpc({ name, code }: Members): boolean {
  return name === 'ProtocolError' && JSON_RPC_REFUSALS.has(code)
}

/** What a head says where it says nothing: an empty list in gRPC, null in ConnectRPC. */
function isEmpty(said: unknown): boolean {
  return said === null || said === undefined || membersOf(said).length === 0
}

function isOfNode(syscall: unknown, message: unknown): boolean {
  if (typeof syscall !== 'string' || typeof message !== 'string') return false
  return OWN_WORDS_OF_NODE.exec(message)?.[1] === syscall
}

/** What a text says, of an error or thrown in place of one. */
export function signOfText(text: unknown): ErrorSign {
  if (typeof text !== 'string') return 'none'
  if (text.length > MAX_TEXT || LOST_WORDS.test(text)) return 'lost'
  const names = text.match(NAMES_IN_TEXT) ?? []
  if (names.some(isLostName)) return 'lost'
  return TRANSPORT_WORDS.test(text) || names.some((name) => TRANSPORT_NAME.test(name)) ? 'transport' : 'none'
}

/** The operating system did not begin what it was asked for, on this machine. */
function isNotBegun(at: Members): boolean {
  return typeof at.syscall === 'string' && LOCAL_CALL.test(at.syscall) && hasCode(at, NOT_BEGUN)
}

/** A call of the operating system that failed, of which no more than a number is left. */
function isNamelessCall({ code, errno }: Members): boolean {
  return typeof errno === 'number' && errno < 0 && typeof code !== 'string'
}

/** Nothing was sent on the connection that there never was. */
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

/** Where libraries keep them. */
const NAMES = ['name', 'code', 'errno', 'errorCode', 'errorType', 'kind', 'rawType', 'sqlState', 'sqlstate', 'type']

/** Its names, codes, types and labels, and the names of its classes. */
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

/** Every status of HTTP that was answered: where two differ, the worse one counts. */
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

/** With 0, which is what a browser has where there was no answer. */
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
