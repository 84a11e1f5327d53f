/** What a model is told in place of a result. */
import { type DeniedError, refusalForModel } from '@countersign/client'
import { ToolMessage } from '@langchain/core/messages'

interface Called {
  readonly name: string
  readonly id?: string | undefined
}

/** Why a call did not run, for the app: `artifact.denied` of the message, which no model is sent. */
export interface ToolDenial {
  readonly reason: DeniedError['reason']
  readonly decision_id: string | null
}

/** An error message with what happened and what to do next. Neither permit nor policy is in it. */
export function denialMessage(error: DeniedError, called: Called): ToolMessage {
  const denied: ToolDenial = { reason: error.reason, decision_id: error.decision_id }
  return errorMessage(refusalForModel(error), called, { denied })
}

/** As an agent without middleware has it. */
export function failureMessage(error: unknown, called: Called): ToolMessage {
  return errorMessage(`${error}\n Please fix your mistakes.`, called)
}

function errorMessage(content: string, { name, id = '' }: Called, artifact?: unknown): ToolMessage {
  return new ToolMessage({ status: 'error', content, tool_call_id: id, name, artifact })
}
