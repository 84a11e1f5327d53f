import { AGENT_OPERATIONS } from './agents.js'
import { AUDIT_OPERATIONS } from './audit.js'
import { BUDGET_OPERATIONS } from './budgets.js'
import { CAPABILITY_OPERATIONS } from './capabilities.js'
import { DECISION_TRANSITIONS } from './decision-transitions.js'
import { DECISION_OPERATIONS } from './decisions.js'
import { EVENT_OPERATIONS } from './events.js'
import type { OperationName } from './index.js'
import { KEY_OPERATIONS } from './keys.js'
import type { Operation } from './operation.js'
import { PERMIT_OPERATIONS } from './permits.js'
import { POLICY_OPERATIONS } from './policies.js'
import { STATS_OPERATIONS } from './stats.js'
import { WEBHOOK_OPERATIONS } from './webhooks.js'

/** The facts that a program needs to call an operation. */
export interface Endpoint<Name extends OperationName = OperationName>
  extends Pick<Operation, 'method' | 'path' | 'takesKey'> {
  /** Only a type: it ties the endpoint to what the operation takes and answers. */
  readonly name?: Name
}

type EndpointsOf<Rows> = { readonly [Name in keyof Rows & OperationName]: Endpoint<Name> }

// One table for each resource, so that a program does not load those that it does not call.
export const DECISION_ENDPOINTS = endpointsOf({ ...DECISION_OPERATIONS, ...DECISION_TRANSITIONS })
export const CAPABILITY_ENDPOINTS = endpointsOf(CAPABILITY_OPERATIONS)
export const POLICY_ENDPOINTS = endpointsOf(POLICY_OPERATIONS)
export const BUDGET_ENDPOINTS = endpointsOf(BUDGET_OPERATIONS)
export const AGENT_ENDPOINTS = endpointsOf(AGENT_OPERATIONS)
export const KEY_ENDPOINTS = endpointsOf(KEY_OPERATIONS)
export const PERMIT_ENDPOINTS = endpointsOf(PERMIT_OPERATIONS)
export const AUDIT_ENDPOINTS = endpointsOf(AUDIT_OPERATIONS)
export const WEBHOOK_ENDPOINTS = endpointsOf(WEBHOOK_OPERATIONS)
export const STATS_ENDPOINTS = endpointsOf(STATS_OPERATIONS)
export const EVENT_ENDPOINTS = endpointsOf(EVENT_OPERATIONS)

/** The endpoint of each operation. */
export const ENDPOINTS: EndpointsOf<Readonly<Record<OperationName, Operation>>> = {
  ...DECISION_ENDPOINTS,
  ...CAPABILITY_ENDPOINTS,
  ...POLICY_ENDPOINTS,
  ...BUDGET_ENDPOINTS,
  ...AGENT_ENDPOINTS,
  ...KEY_ENDPOINTS,
  ...PERMIT_ENDPOINTS,
  ...AUDIT_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  ...STATS_ENDPOINTS,
  ...EVENT_ENDPOINTS,
}

function endpointsOf<Rows extends Readonly<Record<string, Operation>>>(rows: Rows): EndpointsOf<Rows> {
  const entries = Object.entries<Operation>(rows)
  return Object.fromEntries(
    entries.map(([name, { method, path, takesKey }]) => [name, { method, path, takesKey }]),
  ) as EndpointsOf<Rows>
}
