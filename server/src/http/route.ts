/**
 * The definition of an endpoint. The table of routes drives the server, the OpenAPI document and the tests of every endpoint.
 */
import type { ErrorCode, Scope } from '@countersign/contract'
import type { z } from 'zod'
import type { Caller } from '../caller.js'
import type { IdempotencyDraft } from '../use-cases/idempotency.js'
import type { Pause } from './long-work.js'
import type { Reply } from './reply.js'

export interface Call<Body = unknown, Query = unknown> {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly body: Body
  readonly query: Query
  readonly ifMatch: string | undefined
  readonly lastEventId: string | undefined
  readonly requestId: string
  readonly idempotency: IdempotencyDraft | null
  /** What `replay.fingerprint` made of the body; null without an idempotency key. */
  readonly fingerprint: string | null
  /** False once the caller has disconnected. */
  readonly isWanted: () => boolean
  /** Aborted when the caller disconnects or the server shuts down. For a route that `isUnbounded`. */
  readonly signal: () => AbortSignal
  /**
   * The caller, as of now. For a route that `isUnbounded`, and may go on for long.
   *
   * @throws DomainError what answers a new request of a caller who may not call any more
   */
  readonly callerNow: () => Caller
  /** How long authentication took. */
  readonly authMs: number
  /** Await it between the pieces of long work. */
  readonly pause: Pause
}

/** Which scopes a caller needs: all of a list, one of a list, or none (`all: []`). */
export type ScopeRule = { readonly all: readonly Scope[] } | { readonly any: readonly Scope[] }

export interface RouteBody {
  readonly schema: z.ZodType
  readonly maxBytes: number
  readonly maxDepth: number
  /** The maximal depth of the values of these members: they are bodies of another route. */
  readonly memberDepth?: Readonly<Record<string, number>>
  /** Whether an empty body means `{}`. */
  readonly mayBeEmpty?: boolean
}

/** A POST that creates or changes something may carry an Idempotency-Key. */
interface RouteReplay {
  /** Two bodies with the same fingerprint are the same; the hash of the canonical JSON when absent. */
  readonly fingerprint?: (body: unknown) => string
  /** The object that the first call returned, in its present state. */
  readonly present: (call: Call, subject: string) => Promise<Content>
  /** Throws the errors that come before `idempotency_key_reused`: of the body's content, 403 and 404. */
  readonly assertAllowed?: (call: Call) => unknown
  /**
   * Whether the handler calls `idempotency.assertNew` before it takes anything, and so may run before anybody has looked
   * for a record. A repeated call is then found when its write meets the record of the first.
   */
  readonly looksBeforeTaking?: boolean
}

/** What a handler answers. The status is that of the route, and of a repeated call that of the first one. */
type Content = Omit<Reply, 'status'>

interface RouteAnswer {
  readonly status: number
  readonly description: string
  readonly schema?: z.ZodType
  /** The answer is a stream of server-sent events; what each of them has as its `data`. */
  readonly events?: z.ZodType
  /** The answer is a stream of lines of JSON; what each of them is one of. */
  readonly lines?: readonly z.ZodType[]
  /** Optional where a replay has none. */
  readonly headers?: Readonly<Record<string, z.ZodType<string | undefined>>>
}

/** A long poll: the answer is the state after the wait. */
interface RouteLongPoll<Waiting = Call> {
  readonly ms: (call: Waiting) => number
  /** Waits at most `ms`, which is more than 0. */
  readonly wait: (call: Waiting, ms: number) => Promise<void>
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As OpenAPI writes it: `/v1/policies/{id}`. */
  readonly path: string
  /** `<resource>.<verb>`: the name of the use case and of the client's method. */
  readonly name: string
  readonly summary: string
  readonly scopes: ScopeRule
  readonly body?: RouteBody
  /** The query parameters, as strings. Others are rejected. */
  readonly query?: z.ZodObject
  readonly replay?: RouteReplay
  readonly answer: RouteAnswer
  /** The problems of this route, in addition to those of every route. */
  readonly problems: readonly ErrorCode[]
  readonly longPoll?: RouteLongPoll
  /**
   * Whether it changes state that processes keep in memory, or depends on it. Such a change first catches up with the store, so
   * that it does not use older state.
   */
  readonly isChange?: boolean
  /** Whether it only reads and may take long, as lists and simulations do. Such calls take turns. */
  readonly isLong?: boolean
  /** Whether it takes as long as there is something to do or to tell, as a stream. No deadline ends it. */
  readonly isUnbounded?: boolean
  readonly handle: (call: Call) => Promise<Content>
}

/** Calls the handler of a route. */
export async function handled(route: Route, call: Call): Promise<Reply> {
  return { status: route.answer.status, ...(await route.handle(call)) }
}

/** Whether it only reads. Its answer can be replaced by an error, because nothing happened. */
export function isReading({ method, isLong }: Route): boolean {
  return method === 'GET' || isLong === true
}

interface RouteDefinition<Body extends z.ZodType, Query extends z.ZodObject>
  extends Omit<Route, 'body' | 'query' | 'handle' | 'replay' | 'longPoll'> {
  readonly body?: RouteBody & { readonly schema: Body }
  readonly query?: Query
  readonly replay?: {
    readonly fingerprint?: (body: z.output<Body>) => string
    readonly present: (call: Call<z.output<Body>, z.output<Query>>, subject: string) => Promise<Content>
    readonly assertAllowed?: (call: Call<z.output<Body>, z.output<Query>>) => unknown
    readonly looksBeforeTaking?: boolean
  }
  readonly longPoll?: RouteLongPoll<Call<z.output<Body>, z.output<Query>>>
  readonly handle: (call: Call<z.output<Body>, z.output<Query>>) => Promise<Content>
}

/** Gives the handler the types of the route's body and query. The API validates both before it calls the handler. */
export function route<Body extends z.ZodType, Query extends z.ZodObject>(
  definition: RouteDefinition<Body, Query>,
): Route {
  return definition as unknown as Route
}
