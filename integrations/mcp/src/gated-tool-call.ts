/** The life of one `tools/call`: ask for a decision, run the tool at most once, settle by the outcome. Every kind of gate uses this. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type ActionOutcome, DeniedError, type GuardRun } from '@countersign/client'
import { prepareToolCall, type QuestionSettings } from '@countersign/client/kernel'
import { type Brought, CallLeg, type LegOfCall } from './call-leg.js'
import type { ToolGate } from './gate-options.js'
import type { Caller, GatedCall } from './gated-call.js'
import { taskOf } from './tasks.js'
import {
  denialResult,
  outcomeOfResult,
  requiresInput,
  shownDenial,
  type ToolResult,
  withDecision,
} from './tool-result.js'

/** A call that is to be asked about. */
export interface CallToGate extends LegOfCall {
  readonly args: unknown
  /** Gives the mapping the arguments as the tool will have them. */
  readonly parse?: ((args: unknown) => unknown) | undefined
  /** The client asks for a task. It accepts no other result, so a refusal is an error. */
  readonly wantsTask?: boolean | undefined
  /** The outcome of the task that answers the call. Default: unknown. */
  readonly endOfTask?: ((taskId: string) => Promise<ActionOutcome>) | undefined
}

const runs = new AsyncLocalStorage<GuardRun>()

/**
 * The current run inside a gated tool, undefined elsewhere. It has the decision, the permit for a service that checks it, and
 * `setAmount` for the real cost of the action.
 */
export function currentRun(): GuardRun | undefined {
  return runs.getStore()
}

/**
 * Resolves with the result of the tool, with a refusal, or with a request for input that carries a `requestState` of the gate. A task is
 * returned at once, and settled when it ends.
 *
 * @param run gets the arguments that were asked about, and the part of `brought` that is for the tool
 * @throws what `run` throws; the signal's reason if the call was cancelled before it ran; RefusedCall if the gate refuses with errors
 */
export function gateToolCall(
  gate: ToolGate,
  call: CallToGate,
  run: (args: unknown, brought: Brought) => Promise<ToolResult>,
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    gated(gate, call, run, resolve).then(resolve, reject)
  })
}

async function gated(
  gate: ToolGate,
  { args, parse, wantsTask, endOfTask, ...called }: CallToGate,
  run: (args: unknown, brought: Brought) => Promise<ToolResult>,
  answer: (result: ToolResult) => void,
): Promise<ToolResult> {
  const { call } = called
  const mapping = gate.mappingOf(call.name)
  const prepared = await prepareToolCall(settingsFor(gate, call), { call, args, mapping, parse })
  const leg = new CallLeg(gate, called, prepared)
  let isRunning = false
  let end: ActionOutcome | undefined
  try {
    const admission = await leg.admit()
    const input = leg.reviewInput(admission)
    if (input !== undefined) return input
    const action = async (given: GuardRun): Promise<ToolResult> => {
      isRunning = true
      const result = await runs.run(given, run, prepared.toRun(), leg.brought)
      if (requiresInput(result)) throw new RequiresInput(() => leg.toolInput(result, admission))
      const taskId = taskOf(result)
      if (taskId === undefined) return result
      answer(withDecision(result, admission))
      end = await outcomeOfTask(taskId, endOfTask)
      return result
    }
    const outcome = (result: ToolResult): ActionOutcome | undefined => end ?? outcomeOfResult(result)
    return withDecision(await gate.point.run(admission, action, { outcome, isPause }), admission)
  } catch (error) {
    if (error instanceof RequiresInput) return error.resultOncePaused()
    if (isRunning || !DeniedError.isInstance(error)) throw error
    if (gate.denyAs === 'error' || wantsTask) throw new RefusedCall(error)
    return denialResult(error)
  }
}

/** The tool has not ended: the same call goes on when its client has answered. */
class RequiresInput extends Error {
  readonly resultOncePaused: () => ToolResult

  constructor(resultOncePaused: () => ToolResult) {
    super('the tool requires input')
    this.resultOncePaused = resultOncePaused
  }
}

const isPause = (error: unknown): boolean => error instanceof RequiresInput

async function outcomeOfTask(taskId: string, endOfTask: CallToGate['endOfTask']): Promise<ActionOutcome> {
  try {
    return (await endOfTask?.(taskId)) ?? { kind: 'unknown' }
  } catch (error) {
    return { kind: 'unknown', error }
  }
}

/** A refusal as a JSON-RPC error: both SDKs send `code`, `message` and `data` of an error that a handler throws. */
export class RefusedCall extends Error {
  readonly code = -32003
  readonly data: unknown

  constructor(denied: DeniedError) {
    const { content, _meta } = denialResult(denied) as { content: [{ text: string }]; _meta: unknown }
    super(content[0].text, { cause: denied })
    this.data = _meta ?? shownDenial(denied)
  }
}

/** How the agent and the action of this caller's requests are found. */
export function settingsFor({ naming, agentId }: ToolGate, { authInfo }: Caller): QuestionSettings<GatedCall> {
  // A caller that is authenticated without an id must not act as this program.
  return { point: naming, agentId: agentId ?? (authInfo && (() => authInfo.clientId)) }
}
