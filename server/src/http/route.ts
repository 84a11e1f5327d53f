/**
 * Defines how the server performs the operations of the contract. The server and the tests of every endpoint use the
 * routes.
 */
import {
  type BodyOf,
  OPERATIONS,
  type Operation,
  type OperationName,
  type Operations,
  type ParamsOf,
  type QueryOf,
} from '@countersign/contract/operations'
import type { Caller } from '../caller.js'
import type { RequestSpan } from '../ports/tracer.js'
import type { IdempotencyDraft } from '../use-cases/idempotency.js'
import type { Pause, Place } from './long-work.js'
import type { Patience } from './places.js'
import type { Reply } from './reply.js'

/**
 * A request with its caller, and with the body and query as parsed by the schemas of the operation. Use cases take the
 * members that they need.
 */
export interface Call<Body = unknown, Query = unknown, Params = Readonly<Record<string, string>>> {
  readonly caller: Caller
  /** The path of the operation, such as `/v1/policies/{id}`. */
  readonly path: string
  readonly params: Params
  readonly body: Body
  readonly query: Query
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly lastEventId: string | undefined
  readonly requestId: string
  readonly idempotency: IdempotencyDraft | null
  /** The result of `replay.fingerprint` for the body; null without an idempotency key. */
  readonly fingerprint: string | null
  /** False once the caller has disconnected. */
  readonly isWanted: () => boolean
  /** Aborted when the caller disconnects or the server shuts down. Only for a route that `isUnbounded`. */
  readonly signal: () => AbortSignal
  /**
   * Returns the caller as of now. Only for a route that `isUnbounded`, which may run for long.
   *
   * @throws DomainError the error that a new request would get once the caller has lost access
   */
  readonly callerNow: () => Caller
  /** Null when the request is not recorded. */
  readonly span: RequestSpan | null
  /** How long authentication took. */
  readonly authMs: number
  /** Await it between the pieces of long work. */
  readonly pause: Pause
  /** Waits for something else. During the wait, the call of a route that `isLong` holds no place. */
  readonly outside: Place['outside']
  /**
   * Runs a piece of the work in a place for long calls. For a route that `isUnbounded`: it must not hold a place for as
   * long as its caller keeps reading.
   *
   * @throws DomainError rate_limited
   */
  readonly inPlace: <T>(work: (place: Place) => Promise<T>, patience: Patience) => Promise<T>
}

/** A POST that creates or changes something may carry an Idempotency-Key. */
interface RouteReplay<Repeated extends Pick<Call, 'body'> = Call> {
  /** Two bodies with the same fingerprint count as equal. Without it, the hash of the canonical JSON is compared. */
  readonly fingerprint?: (body: Repeated['body']) => string
  /** Returns the object that the first call returned, in its present state. */
  readonly present: (call: Repeated, subject: string) => Promise<Content>
  /** Throws the errors that come before `idempotency_key_reused`: those about the body's content, 403 and 404. */
  readonly assertAllowed?: (call: Repeated) => unknown
  /**
   * Whether the handler calls `idempotency.assertNew` before it takes anything. Then it may run before the record is
   * looked up, and a repeated call is found when its write meets the record of the first.
   */
  readonly looksBeforeTaking?: boolean
}

/**
 * The answer of a handler. Without its own status, it gets that of the operation; a repeated call gets the first
 * call's.
 */
type Content = Omit<Reply, 'status'> & { readonly status?: number }

/** A long poll: the answer is the state after the wait. */
interface RouteLongPoll<Waiting = Call> {
  readonly ms: (call: Waiting) => number
  /** Waits at most `ms`, which is more than 0. */
  readonly wait: (call: Waiting, ms: number) => Promise<void>
}

/** An operation of the contract with its implementation in this server. */
export interface Route extends Operation {
  /** `<resource>.<verb>`, as in the table of operations. */
  readonly name: string
  readonly replay?: RouteReplay
  readonly longPoll?: RouteLongPoll
  /**
   * Whether it changes, or depends on, state that processes keep in memory. Such a call first catches up with the
   * store, so that it does not use older state.
   */
  readonly isChange?: boolean
  /** Whether it only reads and may take long, such as lists and simulations. Such a call runs in a place. */
  readonly isLong?: boolean
  /** Whether it runs for as long as it has work or data to send, such as a stream. No deadline ends it. */
  readonly isUnbounded?: boolean
  readonly handle: (call: Call) => Promise<Content>
}

/** Calls the handler of a route. */
export async function handled(route: Route, call: Call): Promise<Reply> {
  return { status: route.answer.status, ...(await route.handle(call)) }
}

/** Whether it only reads. Then an error can still replace its answer, because nothing has changed. */
export function isReading({ method, isLong }: Route): boolean {
  return method === 'GET' || isLong === true
}

export type CallOf<Name extends OperationName> = Call<BodyOf<Name>, QueryOf<Name>, ParamsOf<Name>>

/** A route that takes an Idempotency-Key also defines the answer to a repeated call. */
type RouteDefinition<Name extends OperationName> = Pick<Route, 'isChange' | 'isLong' | 'isUnbounded'> & {
  readonly longPoll?: RouteLongPoll<CallOf<Name>>
  readonly handle: (call: CallOf<Name>) => Promise<Content>
} & (Operations[Name] extends { readonly takesKey: true } ? { readonly replay: RouteReplay<CallOf<Name>> } : object)

/**
 * Builds the routes of operations, by name. Each handler gets the types of its operation: the API validates body and
 * query before it calls the handler. A list may take long.
 */
export function routesOf<Name extends OperationName>(definitions: { readonly [Each in Name]: RouteDefinition<Each> }) {
  const routes = Object.entries<object>(definitions).map(([name, definition]) => {
    const operation: Operation = OPERATIONS[name as Name]
    return [name, { name, ...operation, isLong: operation.isPage === true, ...definition }]
  })
  return Object.fromEntries(routes) as Readonly<Record<Name, Route>>
}
