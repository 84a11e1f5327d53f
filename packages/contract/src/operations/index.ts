import type { z } from 'zod'
import type { Immutable } from '../immutable.js'
import { AGENT_OPERATIONS } from './agents.js'
import { AUDIT_OPERATIONS } from './audit.js'
import { BUDGET_OPERATIONS } from './budgets.js'
import { CAPABILITY_OPERATIONS } from './capabilities.js'
import { DECISION_TRANSITIONS } from './decision-transitions.js'
import { DECISION_OPERATIONS } from './decisions.js'
import { EVENT_OPERATIONS } from './events.js'
import { KEY_OPERATIONS } from './keys.js'
import type { Operation } from './operation.js'
import { PERMIT_OPERATIONS } from './permits.js'
import { POLICY_OPERATIONS } from './policies.js'
import { STATS_OPERATIONS } from './stats.js'
import { WEBHOOK_OPERATIONS } from './webhooks.js'

export type { Operation, OperationBody, ScopeRule } from './operation.js'

/**
 * Every operation under `/v1`, by its name `<resource>.<verb>`, in the order of the documents. The server's routes, the
 * OpenAPI document, the SDK's methods and the dashboard's calls are all built from this table.
 */
export const OPERATIONS = {
  ...DECISION_OPERATIONS,
  ...CAPABILITY_OPERATIONS,
  ...DECISION_TRANSITIONS,
  ...POLICY_OPERATIONS,
  ...BUDGET_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...KEY_OPERATIONS,
  ...PERMIT_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...STATS_OPERATIONS,
  ...EVENT_OPERATIONS,
} as const satisfies Readonly<Record<string, Operation>>

export type Operations = typeof OPERATIONS
export type OperationName = keyof Operations

type Of<Name extends OperationName> = Operations[Name]

/** The parameters of the path. */
export type ParamsOf<Name extends OperationName> =
  Of<Name> extends { readonly params: infer Params }
    ? { readonly [Param in keyof Params]: string }
    : Readonly<Record<never, string>>

/** The schema of the body; `undefined` when there is none. */
type BodySchemaOf<Name extends OperationName> =
  Of<Name> extends { readonly body: { readonly schema: infer Schema extends z.ZodType } } ? Schema : z.ZodUndefined

/** A body as a caller sends it. */
export type SentBodyOf<Name extends OperationName> = Immutable<z.input<BodySchemaOf<Name>>>

/** A value that the server parses from text is sent as text. */
type SentValue<Value> = Value extends number | undefined ? Value : string
type SentQuery<Query> = { readonly [Parameter in keyof Query]: SentValue<Query[Parameter]> }

type NamedParams<Params> = [keyof Params] extends [never] ? object : { readonly params: Params }
type NamedQuery<Query> = Query extends undefined
  ? object
  : object extends Query
    ? { readonly query?: SentQuery<Query> }
    : { readonly query: SentQuery<Query> }

/** The parameters of the path and the query, where the operation takes them. */
export type Named<Name extends OperationName> = NamedParams<ParamsOf<Name>> & NamedQuery<QueryOf<Name>>

/** A body as the server has checked it. */
export type BodyOf<Name extends OperationName> = z.output<BodySchemaOf<Name>>

/** The query parameters as the server has checked them. */
export type QueryOf<Name extends OperationName> =
  Of<Name> extends { readonly query: infer Schema extends z.ZodType } ? z.output<Schema> : undefined

/** The body of the answer; undefined when it has none, or is a stream. */
export type AnswerOf<Name extends OperationName> =
  Of<Name> extends { readonly answer: { readonly schema: infer Schema extends z.ZodType } }
    ? Immutable<z.output<Schema>>
    : undefined

/** The operations that answer with a page. */
export type PageName = {
  [Name in OperationName]: Of<Name> extends { readonly isPage: true } ? Name : never
}[OperationName]

/** The items of a page. */
export type ItemOf<Name extends PageName> =
  AnswerOf<Name> extends { readonly data: readonly (infer Item)[] } ? Item : never
