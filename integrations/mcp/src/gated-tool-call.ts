/** One `tools/call`: asked about, run once if it may, settled by how it ended. The one place for every kind of gate. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type ActionOutcome, type Admission, DeniedError, type GuardRun } from '@countersign/client'
import { prepareToolCall, type QuestionSettings } from '@countersign/client/kernel'
import { callKey } from './call-key.js'
import { admitAnswered, admitElicited, type Elicit, reviewAnswerIn, reviewInputOf } from './elicitation.js'
import type { ToolGate } from './gate-options.js'
import type { Caller, GatedCall } from './gated-call.js'
import type { BroughtCall, PausedCall } from './request-state.js'
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
export interface CallToGate {
  readonly call: GatedCall
  readonly args: unknown
  /** Gives the mapping the arguments as the tool will have them. */
  readonly parse?: ((args: unknown) => unknown) | undefined
  /** What keeps the call from being asked about at all, such as a tool that is not the one that was mapped. */
  readonly fault?: DeniedError | undefined
  /** Aborted when the caller has cancelled the call. */
  readonly signal?: AbortSignal | undefined
  /** The client wants to be answered by a task: it reads no other result, so that a refusal is an error. */
  readonly wantsTask?: boolean | undefined
  readonly brought?: Brought | undefined
  /** How the user at the client can be asked; undefined where not at all. */
  readonly elicit?: Elicit | undefined
  /** How the task ends that the call was answered by. Default: nobody knows. */
  readonly endOfTask?: ((taskId: string) => Promise<ActionOutcome>) | undefined
}

/** What the client has brought back with the same call (2026-07-28), as it wrote it. */
export interface Brought {
  readonly requestState?: unknown
  readonly inputResponses?: unknown
}

const runs = new AsyncLocalStorage<GuardRun>()

/**
 * Within a gated tool: what permitted its run. It has the permit for a service that checks it, and `setAmount` for what the
 * action really cost. Undefined elsewhere.
 */
export function currentRun(): GuardRun | undefined {
  return runs.getStore()
}

/**
 * The result of the tool, or a refusal in its place; or what is asked of the client first, with a `requestState` of the gate. A task
 * is given at once, and settled when it ends.
 *
 * @param run is given the arguments that were asked about, and what of `brought` is for the tool
 * @throws what `run` throws; the signal's reason where the call was cancelled before it ran; and a RefusedCall where the gate
 * tells refusals as errors
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
  { call, args, parse, fault, signal, wantsTask, brought = {}, elicit, endOfTask }: CallToGate,
  run: (args: unknown, brought: Brought) => Promise<ToolResult>,
  answer: (result: ToolResult) => void,
): Promise<ToolResult> {
  const mapping = gate.mappingOf(call.name)
  const { request, toRun, question } = await prepareToolCall(settingsFor(gate, call), { call, args, mapping, parse })
  const of = { call, args: question?.args }
  let asked = fault === undefined ? request : thrower(fault)
  let paused: BroughtCall | undefined
  let idempotencyKey: string | undefined
  try {
    if (question !== null && fault === undefined) paused = gate.states.open(brought.requestState, of)
    if (paused === undefined) idempotencyKey = callKey(gate.idempotencyKey, call, question?.request.agent_id)
  } catch (error) {
    asked = thrower(error)
  }
  const ways = { signal, tag: call.name, nested: 'share', pauseBy: 'id' } as const
  const admit = (goOnWith?: string): Promise<Admission> =>
    gate.point.admit(asked, {
      ...ways,
      // Of all that go on with a review, one claims it.
      ...(goOnWith === undefined ? { idempotencyKey } : { goOnWith, claimHolder: crypto.randomUUID() }),
    })
  const admitted = (): Promise<Admission> => {
    const { reviewer } = gate
    if (paused?.awaits === 'tool') return gate.point.admit(asked, { ...ways, goOnWith: paused.decision_id })
    if (reviewer === undefined || elicit === undefined) return admit(paused?.decision_id)
    if (paused !== undefined)
      return admitAnswered(admit, reviewer, paused.decision_id, reviewAnswerIn(brought.inputResponses))
    return elicit === 'input_required' ? admit() : admitElicited(admit, reviewer, elicit, signal)
  }
  const asksBack = (awaits: PausedCall['awaits'], result: ToolResult, { decision }: Admission): ToolResult => {
    // Only what is observed has none.
    if (decision === null) return result
    const { id: decision_id, expires_at } = decision
    const state = typeof result.requestState === 'string' ? result.requestState : undefined
    return { ...result, requestState: gate.states.seal({ decision_id, awaits, state }, expires_at, of) }
  }
  let isRunning = false
  let end: ActionOutcome | undefined
  try {
    const admission = await admitted()
    const input = admission.kind === 'paused' && elicit === 'input_required' ? reviewInputOf(admission) : undefined
    if (input !== undefined) return asksBack('review', withDecision(input, admission), admission)
    if (paused?.take() === false && admission.kind === 'permitted') {
      admission.pause()
      throw new DeniedError('already_claimed', { decision_id: paused.decision_id })
    }
    const action = async (given: GuardRun): Promise<ToolResult> => {
      isRunning = true
      const result = await runs.run(given, run, toRun(), broughtToTool(paused, brought))
      if (requiresInput(result)) throw new RequiresInput(asksBack('tool', withDecision(result, admission), admission))
      const taskId = taskOf(result)
      if (taskId === undefined) return result
      answer(withDecision(result, admission))
      end = await outcomeOfTask(taskId, endOfTask)
      return result
    }
    const outcome = (result: ToolResult): ActionOutcome | undefined => end ?? outcomeOfResult(result)
    return withDecision(await gate.point.run(admission, action, { outcome, isPause }), admission)
  } catch (error) {
    if (error instanceof RequiresInput) return error.result
    if (isRunning || !DeniedError.isInstance(error)) throw error
    if (gate.denyAs === 'error' || wantsTask) throw new RefusedCall(error)
    return denialResult(error)
  }
}

/** The tool has not ended: the same call goes on when its client has answered. */
class RequiresInput extends Error {
  readonly result: ToolResult

  constructor(result: ToolResult) {
    super('the tool requires input')
    this.result = result
  }
}

const isPause = (error: unknown): boolean => error instanceof RequiresInput

/** A state that is not known to be ours reaches a tool in the mode `observe` alone. */
function broughtToTool(paused: PausedCall | undefined, { requestState, inputResponses }: Brought): Brought {
  if (paused?.awaits === 'review') return {}
  const state = paused === undefined ? requestState : paused.state
  return {
    ...(state !== undefined && { requestState: state }),
    ...(inputResponses !== undefined && { inputResponses }),
  }
}

async function outcomeOfTask(taskId: string, endOfTask: CallToGate['endOfTask']): Promise<ActionOutcome> {
  try {
    return (await endOfTask?.(taskId)) ?? { kind: 'unknown' }
  } catch (error) {
    return { kind: 'unknown', error }
  }
}

/** A refusal as an error of the protocol: both SDKs tell `code`, `message` and `data` of what a handler throws. */
export class RefusedCall extends Error {
  readonly code = -32003
  readonly data: unknown

  constructor(denied: DeniedError) {
    const { content, _meta } = denialResult(denied) as { content: [{ text: string }]; _meta: unknown }
    super(content[0].text, { cause: denied })
    this.data = _meta ?? shownDenial(denied)
  }
}

function thrower(fault: unknown): () => never {
  return () => {
    throw fault
  }
}

/** Who acts, and as what, in what this caller asks for. */
export function settingsFor({ naming, agentId }: ToolGate, { authInfo }: Caller): QuestionSettings<GatedCall> {
  // Who was authenticated, but as nobody, is not this program itself.
  return { point: naming, agentId: agentId ?? (authInfo && (() => authInfo.clientId)) }
}
