/** The span `countersign.decision`: from a question to its decision. Source: docs/tracing.md. */
import type { Attributes, Span } from '@opentelemetry/api'
import { ApiError } from '../errors/api-error.js'
import type { DeniedReason } from '../errors/refusal-reason.js'
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
/** Reasons of a refusal without a decision. */
const UNOBTAINED: ReadonlySet<DeniedReason> = new Set([
  'unavailable',
  'refused',
  'mapping_failed',
  'question_refused',
  'unmapped',
  'arguments_refused',
])

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
    this.#note((span) => {
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

  /** The action does not run, or in the mode `observe` would not. */
  refused(reason: DeniedReason, cause: unknown): void {
    this.#note((span) => {
      span.setAttribute('countersign.refusal.reason', reason)
      if (UNOBTAINED.has(reason)) fail(span, cause, reason)
    })
  }

  /** The call of `authorize` ended without a decision. The caller's own abort is no fault. */
  failed(error: unknown): void {
    if (ApiError.isInstance(error) || UnavailableError.isInstance(error)) this.#note((span) => fail(span, error))
  }

  end(): void {
    this.#note((span) => span.end())
    this.#isEnded = true
  }

  #note(note: (span: Span) => void): void {
    const span = this.#span
    if (span !== undefined && !this.#isEnded) safely(() => note(span))
  }
}

/** For work outside of a span. */
export const NO_SPAN = new DecisionSpan(undefined)

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

/** Names the fault by its code. Its message may quote an argument. */
function fail(span: Span, error: unknown, reason?: DeniedReason): void {
  const type = ApiError.isInstance(error) ? error.code : UnavailableError.isInstance(error) ? error.kind : reason
  span.setAttribute('error.type', type ?? 'unknown')
  span.setStatus({ code: ERROR })
}
