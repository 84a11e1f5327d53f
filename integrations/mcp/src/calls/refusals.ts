/** How a refusal is worded and sent. Its reader can change the call, but sees no warnings of the operator. */
import { ApiError, DeniedError } from '@countersign/client'
import { warnOperator } from '@countersign/client/kernel'
import { printable } from '@countersign/client/text'
import type { ToolGate } from '../gate-options.js'
import { denialResult, requiresInput, shownDenial, type ToolResult } from './result.js'

/** A refusal as a JSON-RPC error. Both SDKs send `code`, `message` and `data` of an error that a handler throws. */
export class RefusedCall extends Error {
  readonly code = -32003
  readonly data: unknown

  constructor(denied: DeniedError) {
    const { content, _meta } = denialResult(denied) as { content: [{ text: string }]; _meta: unknown }
    super(content[0].text, { cause: denied })
    this.data = _meta ?? shownDenial(denied)
  }
}

/** The refusal of a result that asks the client for input (2026-07-28). Such input counts as a request of the server. */
export function closedInput({ rules, point }: ToolGate, result: ToolResult): RefusedCall | undefined {
  if (!requiresInput(result) || point.mode === 'observe') return undefined
  const asked = Object.values(Object(result.inputRequests ?? {})).map((one) => String(Object(one).method))
  const method = asked.find((one) => !rules.passesToClient(one))
  return method === undefined ? undefined : new RefusedCall(serverRequestRefused(method))
}

export function serverRequestRefused(method: string): DeniedError {
  const shown = JSON.stringify(method.slice(0, 100))
  return new DeniedError('unmapped', { detail: `The server may not ask this: ${shown} is not in "pass".` })
}

/** Warns the operator of a refused notification, because its sender gets no answer. */
export function warnOfDropped(method: string, { message }: RefusedCall): void {
  warnOperator(
    'COUNTERSIGN_NOTIFICATION_DROPPED',
    `A notification of an MCP client was dropped: ${printable(JSON.stringify(method), 100)}. ${message}`,
  )
}

/** The parts of a question that a caller can change. */
const PARTS = ['action', 'resource', 'context']

/** The same refusal, with the fault in the question that the decision point or the client found. */
export function namingCause(denied: DeniedError): DeniedError {
  const { reason, cause } = denied
  const detail = denied.detail === null ? faultOf(cause) : undefined
  return detail === undefined ? denied : new DeniedError(reason, { ...denied, detail, cause })
}

function faultOf(cause: unknown): string | undefined {
  if (ApiError.isInstance(cause)) return faultOfProblem(cause)
  // An error of the mapping can say anything. The client's errors about the context have known forms.
  const [, place, fault] = /^context(\S*) (has more than .*|is nested too deep)$/.exec(Object(cause).message) ?? []
  return fault && `The context of this call${atPlace(place)} ${fault}.`
}

function faultOfProblem({ code, detail, errors: [first] }: ApiError): string | undefined {
  // The context is the only part of a question without a limit.
  if (code === 'body_too_large') return 'The context of this call is too large: a decision takes at most 64 KiB.'
  if (code === 'malformed_json') return `In this call, ${detail.replace(/^Line \d+, column \d+: /, '')}`
  const [, part = '', ...path] = first?.pointer.split('/') ?? []
  if (!PARTS.includes(part)) return undefined
  return `The ${part} of this call${atPlace(path.join('.'))} ${first?.detail}.`
}

function atPlace(path = ''): string {
  return path === '' ? '' : ` at ${path.slice(0, 100)}`
}
