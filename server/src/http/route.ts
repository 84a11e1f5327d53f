/**
 * What one endpoint is: the table of routes drives the server, the OpenAPI document and the tests of every endpoint.
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
  readonly requestId: string
  readonly idempotency: IdempotencyDraft | null
  /** False once the caller has gone. */
  readonly isWanted: () => boolean
  /** To be awaited between the pieces of long work. */
  readonly pause: Pause
}

/** Which scopes open the door: all of a list, one of a list, or any key at all (`all: []`). */
export type ScopeRule = { readonly all: readonly Scope[] } | { readonly any: readonly Scope[] }

export interface RouteBody {
  readonly schema: z.ZodType
  readonly maxBytes: number
  readonly maxDepth: number
  /** Of the values of these members: a body of another route inside this one is bound as it is there. */
  readonly memberDepth?: Readonly<Record<string, number>>
  /** Whether an empty body stands for `{}`. */
  readonly mayBeEmpty?: boolean
}

/** A POST that creates or changes something may carry an Idempotency-Key. */
interface RouteReplay {
  /** Tells the same body from another one; the canonical JSON of the body where absent. */
  readonly fingerprint?: (body: unknown) => string
  /** The object that the first call answered, as it is now. */
  readonly present: (call: Call, subject: string) => Promise<ReplayReply>
  /** Refuses what is told before a reused idempotency key is: what is wrong with the body beyond its form, 403 and 404. */
  readonly assertAllowed?: (call: Call) => unknown
}

/** An answer whose status is that of the first call. */
type ReplayReply = Omit<Reply, 'status'>

interface RouteAnswer {
  readonly status: number
  readonly description: string
  readonly schema?: z.ZodType
  /** Optional where a replay has none. */
  readonly headers?: Readonly<Record<string, z.ZodType<string | undefined>>>
}

/** A caller may ask to be kept waiting: what it is told is what holds after the wait. */
interface RoutePatience<Waiting = Call> {
  readonly ms: (call: Waiting) => number
  /** For so long at most, which is more than 0. */
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
  /** The query parameters, as strings; every other one is refused. */
  readonly query?: z.ZodObject
  readonly replay?: RouteReplay
  readonly answer: RouteAnswer
  /** The problems that this route adds to those of every route. */
  readonly problems: readonly ErrorCode[]
  readonly patience?: RoutePatience
  /**
   * Whether it changes what processes keep in memory: then it catches up with the store when its turn comes, and its answer
   * rests on nothing older.
   */
  readonly isChange?: boolean
  /** Whether it changes nothing and may take long, as lists and simulations do: such calls take turns. */
  readonly isLong?: boolean
  readonly handle: (call: Call) => Promise<Reply>
}

/** Whether it changes nothing, so that its answer can be left out. */
export function isReading({ method, isLong }: Route): boolean {
  return method === 'GET' || isLong === true
}

interface RouteDefinition<Body extends z.ZodType, Query extends z.ZodObject>
  extends Omit<Route, 'body' | 'query' | 'handle' | 'replay' | 'patience'> {
  readonly body?: RouteBody & { readonly schema: Body }
  readonly query?: Query
  readonly replay?: {
    readonly fingerprint?: (body: z.output<Body>) => string
    readonly present: (call: Call<z.output<Body>, z.output<Query>>, subject: string) => Promise<ReplayReply>
    readonly assertAllowed?: (call: Call<z.output<Body>, z.output<Query>>) => unknown
  }
  readonly patience?: RoutePatience<Call<z.output<Body>, z.output<Query>>>
  readonly handle: (call: Call<z.output<Body>, z.output<Query>>) => Promise<Reply>
}

/** Ties the types of a route's body and query to its handler; the pipeline has checked both before it calls. */
export function route<Body extends z.ZodType, Query extends z.ZodObject>(
  definition: RouteDefinition<Body, Query>,
): Route {
  return definition as unknown as Route
}
