/** The shape of an operation. {@link OPERATIONS} is the table of all of them. */
import { z } from 'zod'
import type { ErrorCode } from '../errors.js'
import { LIMITS } from '../limits.js'
import { pageOf } from '../page.js'
import type { Scope } from '../scopes.js'
import { queryNumber } from './query-number.js'

/** The scopes that a caller needs: all of a list, one of a list, or none (`all: []`). */
export type ScopeRule = { readonly all: readonly Scope[] } | { readonly any: readonly Scope[] }

export interface OperationBody {
  readonly schema: z.ZodType
  readonly maxBytes: number
  readonly maxDepth: number
  /** The maximum depth of the values of these members, which are bodies of another operation. */
  readonly memberDepth?: Readonly<Record<string, number>>
  /** Whether an empty body means `{}`. */
  readonly mayBeEmpty?: boolean
}

interface OperationAnswer {
  readonly status: number
  /** Whether the status is 201 when the call has created the object. */
  readonly mayCreate?: boolean
  readonly description: string
  readonly schema?: z.ZodType
  /** Set when the answer is a stream of server-sent events: the schema of each event's `data`. */
  readonly events?: z.ZodType
  /** Set when the answer is a stream of JSON lines: the possible schemas of a line. */
  readonly lines?: readonly z.ZodType[]
  /** Optional headers are those that a replay lacks. */
  readonly headers?: Readonly<Record<string, z.ZodType<string | undefined>>>
}

/** The facts of an endpoint that callers and every part that serves or calls it need. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** In the notation of OpenAPI: `/v1/policies/{id}`. */
  readonly path: string
  readonly summary: string
  readonly scopes: ScopeRule
  /** The parameters of the path. The server answers an invalid id with 404. */
  readonly params?: Readonly<Record<string, z.ZodType>>
  /** The query parameters, as strings. Others are rejected. */
  readonly query?: z.ZodObject
  /** Whether the answer is one page of a list. */
  readonly isPage?: boolean
  readonly body?: OperationBody
  /** Whether it takes an `Idempotency-Key`. */
  readonly takesKey?: boolean
  readonly answer: OperationAnswer
  /** The problems of this operation, in addition to those of every operation. */
  readonly problems: readonly ErrorCode[]
}

type Facts = Omit<Operation, 'method' | 'path' | 'isPage'>

/** Builds a row of the table. */
export function operation<const Row extends Facts>(method: Operation['method'], path: string, row: Row) {
  return { method, path, ...row }
}

const PAGE_QUERY = {
  limit: queryNumber(1, LIMITS.pageSize, {
    error: `must be a whole number from 1 to ${LIMITS.pageSize}`,
    description:
      `The maximum number of items. Default: ${LIMITS.pageSizeDefault}. ` +
      `A page also ends at ${LIMITS.pageBytes / 1024 ** 2} MiB.`,
    default: LIMITS.pageSizeDefault,
  }).optional(),
  // Accepts any text, even an empty one: opening the cursor reports every fault with the same error code.
  cursor: z.string().optional().meta({ description: 'The `next_cursor` of the previous page.' }),
}

type PageFacts = Pick<Operation, 'summary' | 'scopes' | 'params' | 'problems'>

/** Builds a row of the table for a list that is read page by page, with the filters that it takes. */
export function page<
  Item extends z.ZodType,
  const Row extends PageFacts,
  Filters extends z.ZodRawShape = Record<never, never>,
>(path: string, [item, description]: readonly [Item, description: string], row: Row, filters?: Filters) {
  return {
    method: 'GET',
    path,
    ...row,
    query: z.strictObject({ ...PAGE_QUERY, ...(filters as Filters) }),
    isPage: true,
    answer: { status: 200, description, schema: pageOf(item) },
    problems: ['invalid_cursor', ...row.problems],
  } as const
}

/** A body of the usual size. */
export function bodyOf<Schema extends z.ZodType>(schema: Schema) {
  return { schema, maxBytes: LIMITS.bodyBytes, maxDepth: LIMITS.bodyDepth }
}

/** A body without members, which may be omitted. @param id of its schema in OpenAPI documents */
export function emptyBody(id: string, title: string) {
  return { ...bodyOf(z.strictObject({}).meta({ id, title })), mayBeEmpty: true } as const
}
