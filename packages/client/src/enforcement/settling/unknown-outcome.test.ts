/** Shapes of errors. What real libraries throw: tools/lost-answers. */
import { AssertionError } from 'node:assert'
import { describe, expect, it } from 'vitest'
import { DeniedError } from '../../errors/denied-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import { signOf } from './error-signs.js'
import { isOutcomeUnknown } from './unknown-outcome.js'

const error = (message: string, members: object = {}) => Object.assign(new Error(message), members)
const because = (message: string, cause: unknown, members: object = {}) =>
  Object.assign(new Error(message, { cause }), members)
const refused = (address = '127.0.0.1:9') =>
  error(`connect ECONNREFUSED ${address}`, { code: 'ECONNREFUSED', errno: -111, syscall: 'connect' })
const reset = () => error('read ECONNRESET', { code: 'ECONNRESET', errno: -104, syscall: 'read' })
const around = (deepest: unknown, depth: number): unknown =>
  depth === 0 ? deepest : because('the refund failed', around(deepest, depth - 1))
const inCircle = (members: object) => {
  const one = error('a', members)
  one.cause = because('b', one)
  return one
}
/** As the errors of gRPC have it. */
const metadata = (entries: Readonly<Record<string, string>>) => ({
  metadata: { get: (name: string) => (name in entries ? [entries[name]] : []) },
})
const throwing = (member: string) =>
  Object.defineProperty(new Error('no'), member, {
    get: () => {
      throw new Error('no')
    },
  })
class StripeConnectionError extends Error {}
class APIError extends Error {}
class BadRequestError extends APIError {}
class ReplyError extends Error {}
class StripeCardError extends Error {}
class StripeAuthenticationError extends Error {}
class ConnectError extends Error {}
class NoReceipt extends TypeError {}
class CloseEvent {
  readonly code = 1006
}
class BankIsLate extends StripeConnectionError {}

describe('nobody knows how far an action came after', () => {
  it.each<[string, unknown]>([
    ['an abort', new DOMException('aborted', 'AbortError')],
    ['a timeout', AbortSignal.timeout(1).reason ?? new DOMException('late', 'TimeoutError')],
    ['a reset', error('x', { code: 'ECONNRESET' })],
    ['a code that an old library gives as errno', error('x', { errno: 'EPIPE' })],
    ['a fetch that was cut off', new TypeError('fetch failed', { cause: error('x', { code: 'UND_ERR_SOCKET' }) })],
    ['a fetch that says no more', new TypeError('fetch failed')],
    ['a body of fetch that was cut', new TypeError('terminated')],
    ['a cancelled request of axios', error('canceled', { name: 'CanceledError', code: 'ERR_CANCELED' })],
    ['a body of axios that was cut', error('aborted', { code: 'ERR_BAD_RESPONSE', response: { status: 200 } })],
    ['a stream of HTTP/2 that broke off', error('stream', { code: 'ERR_HTTP2_STREAM_ERROR' })],
    ['a deadline of gRPC', error('4 DEADLINE_EXCEEDED', { code: 4, details: 'Deadline exceeded' })],
    ['a connection of gRPC that broke', error('14 UNAVAILABLE', { code: 14, details: 'read ECONNRESET' })],
    ['one of many connections that was reset', new AggregateError([new Error('a'), reset()])],
    ['a fetch of node-fetch that took too long', error('late', { type: 'request-timeout' })],
    ['a gateway that gave up', error('x', { status: 504 })],
    ['a server that failed', error('x', { statusCode: 500 })],
    ['an MCP server that failed', error('x', { name: 'ProtocolError', code: -32603 })],
    ['an MCP server that lost an answer', because('x', reset(), { name: 'ProtocolError', code: -32602 })],
    ['a server that failed, as axios tells', error('x', { response: { status: 503 } })],
    ['a server that failed, as AWS tells', error('x', { $metadata: { httpStatusCode: 500 } })],
    ['a server that failed, as a person writes', new Error('the bank answered 502')],
    ['an answer that is not JSON', new SyntaxError('Unexpected token < in JSON')],
    ['a conflict that may be its own', error('x', { status: 409 })],
    ['too many requests, one of which may have come through', error('x', { status: 429 })],
    ['a conflict on the third try', error('x', { status: 409, $metadata: { attempts: 3 } })],
    ['a refusal on the third try', error('x', { status: 400, $metadata: { attempts: 3 } })],
    ['a connection refused on the second try', Object.assign(refused(), { request: { retryCount: 1 } })],
    ['a connection refused after retries that superagent counts', Object.assign(refused(), { retries: 2 })],
    ['a conflict where no retry is left', error('x', { status: 409, retries: 0 })],
    ['a refusal on the second try of Octokit', error('x', { status: 422, request: { request: { retryCount: 1 } } })],
    ['a connection of Azure that was refused at last', error('x', { name: 'RestError', code: 'ECONNREFUSED' })],
    ['an answer 404 of Azure', error('x', { name: 'RestError', statusCode: 404 })],
    ['an answer 400 of OpenAI or Anthropic', Object.assign(new BadRequestError('x'), { status: 400 })],
    ['an answer 400 of theirs in a bundle', error('x', { status: 400, headers: {}, requestID: 'req_1' })],
    ['an answer of theirs that broke off with an error', new APIError('x')],
    ['an answer of Redis that ioredis may have asked for twice', new ReplyError("READONLY You can't write")],
    ['an answer of Redis in a bundle', error('NOAUTH', { command: { name: 'incrby', args: ['refunded', 100] } })],
    ['an answer 401 of Stripe', Object.assign(new StripeAuthenticationError('x'), { statusCode: 401 })],
    ['hosts that were all tried', error('All host(s) tried for query failed', { name: 'NoHostAvailableError' })],
    [
      'a service of gRPC that says of another that it is not there',
      error('14 UNAVAILABLE', { code: 14, details: 'No connection established. Last error: x', ...metadata({}) }),
    ],
    [
      'a refusal of gRPC on the third try',
      error('3 INVALID_ARGUMENT', {
        code: 3,
        details: 'no',
        ...metadata({ 'content-type': 'application/grpc', 'grpc-previous-rpc-attempts': '2' }),
      }),
    ],
    [
      'a refusal of gRPC whose head, where tries are counted, came before',
      error('3 INVALID_ARGUMENT', { code: 3, details: 'no', ...metadata({}) }),
    ],
    ['a program that Node ended for its time', error('Command failed: pay', { killed: true, signal: 'SIGTERM' })],
    ['a program that was ended', error('Command failed: pay', { killed: false, signal: 'SIGKILL', code: null })],
    ['a program that came to a bad end', error('Command failed: curl', { killed: false, cmd: 'curl', code: 56 })],
    ['a program that came to a bad end, as execSync tells', error('Command failed: curl', { status: 1, signal: null })],
    ['a program that came to a bad end, as execa tells', error('Command failed: curl', { exitCode: 1 })],
    [
      'a program that said more than was read',
      error('stdout maxBuffer length exceeded', { code: 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER', cmd: 'pay' }),
    ],
    ['a program that took too long', error('spawnSync pay', { code: 'ETIMEDOUT', syscall: 'spawnSync pay' })],
    ['a socket of the web that was closed', new CloseEvent()],
    ['a socket of the web that was closed, as a cause', because('x', new CloseEvent())],
    ['a frame that cannot be read', error('Invalid WebSocket frame: x', { code: 'WS_ERR_INVALID_OPCODE' })],
    ...[
      'ECONNRESET',
      'EPIPE',
      'ECONNABORTED',
      'ENETRESET',
      'ENETUNREACH',
      'EHOSTUNREACH',
      'ENOTCONN',
      'ESHUTDOWN',
      'EPROTO',
      'ECANCEL',
      'UND_ERR_SOCKET',
      'ERR_HTTP2_STREAM_ERROR',
      'ERR_STREAM_DESTROYED',
      'HPE_INVALID_CONSTANT',
      'Z_BUF_ERROR',
      'PROTOCOL_CONNECTION_LOST',
      'StripeConnectionError',
    ].flatMap((code): [string, unknown][] => [
      [`${code} as a code`, error('x', { code })],
      [`${code} in an error around it`, new Error(`refund failed: Error: read ${code}`)],
      [`${code} in a text`, `refund failed: ${code}`],
    ]),
    ...[
      'Parse Error: Expected HTTP/',
      'Error 503',
      '503',
      'Too Many Requests',
      'the bank did not respond',
      'Empty reply from server',
      'canceled',
      'the bank took too long',
      'Invalid response from the bank',
      'getaddrinfo ENOTFOUND bank.example',
    ].map((text): [string, unknown] => [`the words "${text}"`, new Error(text)]),
    ['a status that is worse than another', error('x', { status: 400, statusCode: 502 })],
    ['a status that is worse in the answer', error('x', { status: 400, response: { status: 502 } })],
    ['a status in text', error('x', { statusCode: '502' })],
    ['a status for a code', error('x', { code: '502' })],
    ['a status of Boom', error('x', { output: { statusCode: 502 } })],
    ['a status of tRPC', error('x', { data: { httpStatus: 500 } })],
    ['a request of tRPC that took too long', error('x', { data: { httpStatus: 408 } })],
    ['a status of Elasticsearch', error('x', { meta: { statusCode: 503 } })],
    ['a status that the other side wrote', error('network error', { data: { status: 400 } })],
    ['a code that the other side wrote', error('network error', { type: 'ECONNREFUSED', rawType: 'ENOTFOUND' })],
    ['no status, as a browser has it', error('x', { status: 0 })],
    ['a status of `res`', error('x', { res: { status: 503 } })],
    ...['httpStatus', 'httpStatusCode', 'httpCode', 'http_status', 'status_code'].map((name): [string, unknown] => [
      `a status called ${name}`,
      error('x', { [name]: 502 }),
    ]),
    ['a request that took too long, on the only try', error('x', { statusCode: 408, attemptNumber: 1 })],
    ['nothing', undefined],
    ['null', null],
    ['a text without a word', ''],
    ['an object that says nothing', {}],
    ['an object that is no error', { message: 'no' }],
    ['a symbol', Symbol('no')],
    ['a number', 504],
    ['a function', () => undefined],
    ['errors in a list', [refused(), refused()]],
    ['what was settled together', [{ status: 'rejected', reason: new Error('no') }]],
    ...['err', 'innerException', 'lastError', 'exception', 'source', 'rootCause', 'jse_cause', 'whatever'].map(
      (name): [string, unknown] => [`a reset under ${name}`, error('x', { [name]: reset() })],
    ),
    ['a reset in an object of errors', error('x', { errors: { first: reset() } })],
    ['a reset in a map of errors', error('x', { errors: new Map([['first', reset()]]) })],
    ['a reset in a set of errors', error('x', { errors: new Set([reset()]) })],
    ['a reset by host', error('x', { innerErrors: { '127.0.0.1:9042': reset() } })],
    ['a number of the operating system alone', error('x', { errno: -104 })],
    ['a connection that SQL calls broken', error('x', { code: '08006' })],
    ['a statement that SQL knows no end of', error('x', { sqlState: '40003' })],
    ['a database that is shutting down', error('x', { code: '57P01' })],
    ['a statement that was cancelled', error('x', { code: '57014' })],
    [
      'an answer of ConnectRPC that cannot be read',
      Object.assign(new ConnectError('x'), {
        code: 3,
        rawMessage: 'parse binary',
        details: [],
        metadata: new Headers(),
      }),
    ],
    ['a worker that is no more', new Error('Worker exited before finishing')],
    ['a connection of Oracle that broke', new Error('ORA-03113: end-of-file on communication channel')],
    ['a connection refused, under a word of more tries', because('gave up: timeout after 3 retries', refused())],
    ['a connection refused beside one that was reset', new AggregateError([refused(), reset()])],
    ['a connection refused beside one that nobody explains', new AggregateError([refused(), error('network error')])],
    ['a reset of a connection that was refused elsewhere', because('x', refused(), { code: 'ECONNRESET' })],
    ['an error called by its class alone', new StripeConnectionError('x')],
    ['an error called by the class of its class', new BankIsLate('x')],
    ['an error of Stripe', error('x', { type: 'StripeConnectionError' })],
    ['an error of Stripe, raw', error('x', { rawType: 'api_error' })],
    ['a connection of pg that broke', new Error('Connection terminated unexpectedly')],
    ['a query of pg that took too long', new Error('Query read timeout')],
    ['a command of Redis that took too long', new Error('Command timed out')],
    ['a connection of Redis that is no more', new Error('Connection is closed.')],
    ['a database that did not answer', error('late', { name: 'MongoNetworkTimeoutError' })],
    ['a write that is not on enough disks', error('x', { name: 'MongoWriteConcernError', code: 64 })],
    ['a socket that hung up', new Error('socket hang up')],
    ['a text in place of an error', 'the connection was reset'],
    ['a lost answer far down', around(reset(), 20)],
    ['more errors than anybody looks at', around(new Error('x'), 1_000)],
    ['a lost answer under an error of a driver', error('x', { driverError: reset() })],
    ['a lost answer in a circle', inCircle({ code: 'ECONNRESET' })],
    ['a client of this package without an answer', new UnavailableError('timeout', 'late')],
    ['a text that speaks of a refusal', new Error('Connection terminated: connect ECONNREFUSED')],
    ['a text that begins like a refusal', error('connect ENOTE a: Connection terminated', { syscall: 'connect' })],
    ['a text in which an address stands', new Error('POST https://bank.example/refunds:terminated')],
    [
      'a text that somebody has filled up',
      new Error(`${'a'.repeat(5_000)} Connection terminated ${'b'.repeat(5_000)}`),
    ],
    ['a name that somebody has filled up', error('x', { code: `${'a'.repeat(300)}_TIMEOUT` })],
    ['an error whose message cannot be read', throwing('message')],
    ['an error whose cause cannot be read', throwing('cause')],
    ['an error whose code cannot be read', throwing('code')],
    ['a mistake in the program', new TypeError("Cannot read properties of undefined (reading 'id')")],
    ['a mistake beside a connection', new TypeError('fetchOrder is not a function')],
    ['a name that is not there', new ReferenceError('receipt is not defined')],
    ['a value out of range', new RangeError('Invalid array length')],
    ['a text that cannot be decoded', new URIError('URI malformed')],
    ['an assertion that does not hold', new AssertionError({ message: 'no receipt' })],
    ['an assertion of a library', error('expected 1 to equal 2', { name: 'AssertionError' })],
    ['a mistake that a program made its own class of', new NoReceipt('no receipt')],
    ['a mistake with a status that refuses', Object.assign(new TypeError('no receipt'), { status: 400 })],
    ['a mistake around a refusal', new TypeError('no receipt', { cause: error('x', { status: 400 }) })],
    ['a mistake under an error of the app', because('the refund failed', new TypeError('no receipt'))],
    ['a mistake in a text', new Error('the refund failed: TypeError: no receipt')],
    ...[
      "Cannot read properties of undefined (reading 'id')",
      "Cannot set properties of null (setting 'id')",
      "Cannot destructure property 'id' of 'receipt' as it is undefined.",
      "Cannot access 'receipt' before initialization",
      'receipt.items is not iterable',
      'receipt.at is not a function',
      'receipt is not defined',
      'Maximum call stack size exceeded',
      "Error executing tool pay: 'NoneType' object has no attribute 'id'",
      "Error executing tool pay: 'NoneType' object is not subscriptable",
    ].map((text): [string, unknown] => [`the words of a mistake: "${text}"`, text]),
    ['an answer 402', error('x', { status: 402 })],
    ['an answer 402 in the words of a bank', error('the connection fee was declined', { statusCode: 402 })],
    ['an answer 402 on the only try', error('x', { status: 402, attemptNumber: 1 })],
    ['an answer 402 as axios tells', error('Request failed with status code 402', { response: { status: 402 } })],
    ['an answer 402 as a person writes', new Error('the payee answered 402')],
    ['an answer 402 in words', new Error('Payment Required')],
    ['an answer 402 of tRPC', error('x', { code: 'PAYMENT_REQUIRED' })],
    ['an answer 402 of an MCP server that is paid by x402', error('x', { name: 'McpError', code: 402 })],
    ['an answer 402 of Stripe that is none about a card', error('x', { type: 'StripeAPIError', statusCode: 402 })],
    ['an error that cannot be looked at', new Proxy({}, { get: () => expect.unreachable() })],
  ])('%s', (_what, one) => {
    expect(isOutcomeUnknown(one)).toBe(true)
  })
})

describe('surely nothing happened after', () => {
  it.each<[string, unknown]>([
    ['a connection that was refused', refused()],
    ['a fetch that was refused', new TypeError('fetch failed', { cause: error('x', { code: 'ECONNREFUSED' }) })],
    [
      'every address that refused',
      Object.assign(new AggregateError([refused('127.0.0.1:9'), refused('[::1]:9')]), { code: 'ECONNREFUSED' }),
    ],
    ['a connection that was refused, in the words of an app', because('no connection to the bank', refused())],
    [
      'a connection that was refused, in the words of a library',
      error('connect ECONNREFUSED ::1:25', { code: 'ESOCKET', syscall: 'connect' }),
    ],
    ['a host that cannot be reached', error('x', { code: 'EHOSTUNREACH', syscall: 'connect' })],
    ['a name that is not found', error('x', { code: 'ENOTFOUND' })],
    ['a name that cannot be looked up', error('x', { code: 'EDNS', syscall: 'getaddrinfo' })],
    [
      'a name with a word in it',
      error('getaddrinfo ENOTFOUND retry.timeout.example', { code: 'ENOTFOUND', syscall: 'getaddrinfo' }),
    ],
    [
      'a certificate that nobody trusts',
      new TypeError('fetch failed', { cause: error('x', { code: 'CERT_HAS_EXPIRED' }) }),
    ],
    ['an answer 400', error('Request failed with status code 400', { response: { status: 400 } })],
    ['a conflict on the only try', error('x', { status: 409, $metadata: { attempts: 1 } })],
    ['a connection refused without a retry', Object.assign(refused(), { retries: 0 })],
    ['an answer 402 of Stripe, to all tries', Object.assign(new StripeCardError('x'), { statusCode: 402 })],
    [
      'an argument that gRPC refuses',
      error('3 INVALID_ARGUMENT', {
        code: 3,
        details: 'no such order',
        ...metadata({ 'content-type': 'application/grpc' }),
      }),
    ],
    ...[3, 5, 7].map((code): [string, unknown] => [
      `code ${code} of ConnectRPC`,
      Object.assign(new ConnectError('[no] no'), {
        code,
        rawMessage: 'no',
        details: [],
        metadata: new Headers({ 'content-type': 'application/proto' }),
      }),
    ]),
    ['an object with an answer 400', { status: 400 }],
    ['a status in text that refuses', error('x', { statusCode: '404' })],
    ['a program that is not there', error('spawn pay ENOENT', { code: 'ENOENT', syscall: 'spawn pay', cmd: 'pay' })],
    ['a program that may not be run', error('spawn pay EACCES', { code: 'EACCES', syscall: 'spawn pay' })],
    [
      'a file that cannot be opened',
      error("ENOENT: no such file or directory, open 'x'", { code: 'ENOENT', errno: -2, syscall: 'open' }),
    ],
    [
      'a folder that is there',
      error("EEXIST: file already exists, mkdir 'x'", { code: 'EEXIST', errno: -17, syscall: 'mkdir' }),
    ],
    [
      'a denial, whatever the reason',
      new DeniedError('unavailable', { cause: new UnavailableError('timeout', 'late') }),
    ],
  ])('%s', (_what, one) => {
    expect(isOutcomeUnknown(one)).toBe(false)
  })
})

describe('an action has failed that ended with', () => {
  it.each<[string, unknown]>([
    ['an error', new Error('card declined')],
    ['an order that is closed', new Error('order is closed')],
    ['an order that is cancelled', new Error('order was canceled')],
    ['a text that is too long', error('value too long for type character varying(3)', { code: '22001' })],
    ['a refusal of tRPC', error('x', { data: { httpStatus: 404 } })],
    ['a field that is wrong', error('invalid', { errors: { amount: error('is negative', { kind: 'min' }) } })],
    ['a reason in an object', because('order is closed', { order: '8812' })],
    ['a validation', error('amount has to be positive', { code: 'invalid_amount', errors: [{ path: 'amount' }] })],
    ['a constraint of a database', error('violates check constraint "positive"', { code: '23514' })],
    ['a file that is not there', error('ENOENT: no such file', { code: 'ENOENT', errno: -2 })],
    ['a text', 'no'],
    ['params that an MCP server refuses', error('Tool x not found', { name: 'ProtocolError', code: -32602 })],
    ['a number for a code', error('exit', { code: 4 })],
    ['causes in a circle', inCircle({})],
  ])('%s', (_what, one) => {
    expect(isOutcomeUnknown(one)).toBe(false)
  })
})

it('leaves unread what is longer than anybody writes', () => {
  const long = 'a'.repeat(1_000_000)
  expect(isOutcomeUnknown(error(long))).toBe(true)
  expect(isOutcomeUnknown(error('x', { code: long }))).toBe(true)
})

// Nothing in them is a sign, so every pattern goes through the whole text. One that backtracks would not come to an end.
it.each([
  'connection is was has by the in ',
  'the connection was ',
  'closed the its this ',
  'status code with error ',
  'answered with a status code of ',
  'http: ',
  'responsecode: ',
  '12 all max ',
  'server temporarily currently ',
  'Command is was has been ',
  'end-of-',
  'E_A ',
  'Error',
  'error code with status ',
  'worker is ',
])('reads as much as it reads of any text: %s', (part) => {
  const text = part.repeat(10_000)
  const name = text.replaceAll(/\W/g, '_').slice(0, 200)
  expect(signOf(error(text.slice(0, 9_999), { name, code: name, syscall: text }))).toBe('transport')
})
