/** Calls of the client against the table of operations. The compiler checks the types when it checks those of the tests. */
import {
  type AnswerOf,
  type ItemOf,
  OPERATIONS,
  type Operation,
  type OperationName,
  type PageName,
  type QueryOf,
} from '@countersign/contract/operations'
import { expect, expectTypeOf, it } from 'vitest'
import { AGENT_ENDPOINTS, DECISION_ENDPOINTS, ENDPOINTS, WEBHOOK_ENDPOINTS } from '../src/endpoints.js'
import type {
  AuditFollowQuery,
  AuditQuery,
  AuditRecordQuery,
  ConsistencyQuery,
  CountersignClient,
  DecisionQuery,
  DeliveryQuery,
  Pages,
  StatsQuery,
} from '../src/index.js'
import { type answerOf, callOf } from '../src/operation.js'

type Unknown<Query, Name extends OperationName> = Exclude<keyof Query, keyof QueryOf<Name>>

it('takes no filter that the operation does not know', () => {
  expectTypeOf<Unknown<AuditQuery, 'audit.list'>>().toBeNever()
  expectTypeOf<Unknown<AuditFollowQuery, 'audit.list'>>().toBeNever()
  expectTypeOf<Unknown<AuditRecordQuery, 'audit.records'>>().toBeNever()
  expectTypeOf<Unknown<ConsistencyQuery, 'audit.consistency'>>().toBeNever()
  expectTypeOf<Unknown<DecisionQuery, 'decisions.list'>>().toBeNever()
  expectTypeOf<Unknown<DeliveryQuery, 'webhooks.deliveries'>>().toBeNever()
  expectTypeOf<Unknown<StatsQuery, 'stats.get'>>().toBeNever()
})

it('calls no operation without what it needs', () => {
  const options = undefined
  const params = { id: 'whk_1', delivery_id: 'dlv_1' }
  expect(callOf(WEBHOOK_ENDPOINTS['webhooks.retry'], { params, body: {}, options }).path).toBe(
    '/v1/webhooks/whk_1/deliveries/dlv_1/retry',
  )
  // @ts-expect-error a parameter of the path is missing
  expect(() => callOf(WEBHOOK_ENDPOINTS['webhooks.retry'], { params: { id: 'whk_1' }, body: {}, options })).toThrow(
    TypeError,
  )
  // @ts-expect-error no operation has this name
  expect(() => callOf(WEBHOOK_ENDPOINTS['webhooks.rename'], { params, options })).toThrow(TypeError)
  // @ts-expect-error the body is missing
  callOf(AGENT_ENDPOINTS['agents.create'], { options })
  // @ts-expect-error an agent has no such member
  callOf(AGENT_ENDPOINTS['agents.create'], { body: { id: 'agent:one', nmae: 'One' }, options })
  // @ts-expect-error the list has no such filter
  callOf(AGENT_ENDPOINTS['agents.list'], { query: { nmae: 'One' }, options })
})

it('sends a body of null as it is: the server refuses it, and nothing is confirmed by mistake', () => {
  const given = { params: { id: 'dec_1' }, options: undefined }
  expect(callOf(DECISION_ENDPOINTS['decisions.confirm'], { ...given, body: null as never }).body).toBeNull()
  expect(callOf(DECISION_ENDPOINTS['decisions.confirm'], { ...given, body: undefined as never }).body).toEqual({})
})

it('takes no answer for a decision before it was looked at', () => {
  expectTypeOf<Awaited<ReturnType<typeof answerOf<'decisions.confirm'>>>>().toBeUnknown()
  expectTypeOf<Awaited<ReturnType<typeof answerOf<'permits.redeem'>>>>().toBeUnknown()
})

/** The methods that have another name than their operation, or another resource. */
interface OtherMethods {
  readonly 'decisions.capabilities': CountersignClient['capabilities']
  readonly 'policies.budget_history': CountersignClient['policies']['budgetHistory']
  readonly 'policies.replace': CountersignClient['policies']['update']
  readonly 'policies.simulate': CountersignClient['simulate']
  readonly 'stats.get': CountersignClient['stats']
}

type MethodOf<Name extends OperationName> = Name extends keyof OtherMethods
  ? OtherMethods[Name]
  : Name extends `${infer Resource extends keyof CountersignClient}.${infer Method}`
    ? CountersignClient[Resource][Method & keyof CountersignClient[Resource]]
    : never

type AnswerOfMethod<Name extends OperationName> =
  MethodOf<Name> extends (...args: never) => infer Answer ? Answer : never

type AnswerOfTable<Name extends OperationName> = Name extends PageName
  ? Pages<ItemOf<Name>>
  : Promise<[AnswerOf<Name>] extends [undefined] ? void : AnswerOf<Name>>

type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false

/** The operations whose method answers with another type than the table has. */
type Differing = {
  [Name in OperationName]: Same<AnswerOfMethod<Name>, AnswerOfTable<Name>> extends true ? never : Name
}[OperationName]

it('answers with what the table has', () => {
  /** `authorize` asks, and `events` follows. An export is read as it is. */
  type Otherwise = 'decisions.decide' | 'events.stream' | 'audit.export'
  /** A repeated call has no secret: these methods throw then. */
  type ShownOnce = 'keys.create' | 'keys.rotate' | 'webhooks.create' | 'webhooks.rotateSecret'
  expectTypeOf<Differing>().toEqualTypeOf<Otherwise | ShownOnce>()
  expectTypeOf<AnswerOfMethod<ShownOnce>>().toExtend<AnswerOfTable<ShownOnce>>()
  expectTypeOf<ReturnType<CountersignClient['authorize']>>().toEqualTypeOf<AnswerOfTable<'decisions.decide'>>()
})

it('knows the endpoints of the table', () => {
  const table = Object.entries<Operation>(OPERATIONS).map(([name, { method, path, takesKey }]) => [
    name,
    { method, path, takesKey },
  ])
  expect(ENDPOINTS).toEqual(Object.fromEntries(table))
})
