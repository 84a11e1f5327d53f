/** The span `countersign.decision`: from a question to its decision. Source: docs/tracing.md. */
import type { Attributes, Span } from '@opentelemetry/api'
import { ApiError } from '../errors/api-error.js'
import { UnavailableError } from '../errors/unavailable-error.js'
import type { Decision } from '../wire.js'
import { registered, safely } from './registered.js'

/** The question, as far as spans show it: no resource and no context, which hold what an agent was told. */
interface SpanQuestion {
  readonly agent_id?: string
  readonly action?: string
  /** Of an enforcement point. */
  readonly mode?: 'enforce' | 'observe'
}

const NAME = 'countersign.decision'
const LIBRARY = '@countersign/client'
/** SpanKind.CLIENT and SpanStatusCode.ERROR. */
const CLIENT = 2
const ERROR = 2
/** The forms that a decision point accepts. Any other text may be an argument that a mapping put in the wrong place. */
const ACTION = /^[a-z0-9._-]{1,128}$/i
const AGENT_ID = /^[a-z0-9._:@/+-]{1,256}$/i

/** Notes the answer to one question. No method throws, and after the end none does anything. */
export class DecisionSpan {
  readonly #span: Span | undefined
  #isEnded = false

  constructor(span: Span | undefined) {
    this.#span = span
  }

  /** Once for each answer: a review that a person has answered is a second one. */
  decided(decision: Decision): void {
    const { id, effect, status, reason_code, policy_id, rule } = decision
    this.note((span) => {
      span.setAttributes({
        'countersign.decision.id': id,
        'countersign.decision.effect': effect,
        'countersign.decision.status': status,
        ...(typeof reason_code === 'string' && { 'countersign.decision.reason_code': reason_code }),
        ...(typeof policy_id === 'string' && { 'countersign.policy.id': policy_id }),
        ...(typeof rule === 'number' && { 'countersign.policy.rule': rule }),
      })
      if (status === 'awaiting_review') span.addEvent('countersign.review_requested')
    })
  }

  /** The call of `authorize` ended without a decision. The caller's own abort is no fault. */
  failed(error: unknown): void {
    const code = codeOf(error)
    if (code !== undefined) this.note((span) => fail(span, code))
  }

  end(): void {
    this.note((span) => span.end())
    this.#isEnded = true
  }

  /** For what only some spans say. */
  note(note: (span: Span) => void): void {
    const span = this.#span
    if (span !== undefined && !this.#isEnded) safely(() => note(span))
  }
}

/**
 * Does the work once, in a span that ends with it, as the active span, so that requests continue its trace. Without
 * OpenTelemetry, and if its tracer fails, the work is done without one.
 */
export async function inDecisionSpan<Result>(
  asked: SpanQuestion,
  work: (span: DecisionSpan) => Promise<Result>,
): Promise<Result> {
  let result: Promise<Result> | undefined
  // A tracer may call it twice, late, or not at all.
  const once = (span?: Span): void => {
    result ??= ending(new DecisionSpan(span), work)
  }
  safely(() => {
    const options = { kind: CLIENT, attributes: attributesOf(asked) }
    registered()?.trace?.getTracer(LIBRARY).startActiveSpan(NAME, options, once)
  })
  once()
  return result as unknown as Promise<Result>
}

async function ending<Result>(span: DecisionSpan, work: (span: DecisionSpan) => Promise<Result>): Promise<Result> {
  try {
    return await work(span)
  } finally {
    span.end()
  }
}

function attributesOf({ agent_id = '', action = '', mode }: SpanQuestion): Attributes {
  return {
    ...(AGENT_ID.test(agent_id) && { 'countersign.agent.id': agent_id }),
    ...(ACTION.test(action) && { 'countersign.action': action }),
    ...(mode !== undefined && { 'countersign.mode': mode }),
  }
}

/** The code of a fault, whose message may quote an argument; undefined for any other error. */
export function codeOf(error: unknown): string | undefined {
  return ApiError.isInstance(error) ? error.code : UnavailableError.isInstance(error) ? error.kind : undefined
}

export function fail(span: Span, code: string): void {
  span.setAttribute('error.type', code)
  span.setStatus({ code: ERROR })
}
