/** One `tools/call`: asked about, run once if it may, settled by how it ended. The one place for every kind of gate. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { DeniedError, type GuardRun } from '@countersign/client'
import { prepareToolCall, type QuestionSettings } from '@countersign/client/kernel'
import { callKey } from './call-key.js'
import type { ToolGate } from './gate-options.js'
import type { Caller, GatedCall } from './gated-call.js'
import { denialResult, outcomeOfResult, shownDenial, type ToolResult, withDecision } from './tool-result.js'

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
 * The result of the tool, or a refusal in its place.
 *
 * @throws what `run` throws; the signal's reason where the call was cancelled before it ran; and a RefusedCall where the gate
 * tells refusals as errors
 */
export async function gateToolCall(
  gate: ToolGate,
  { call, args, parse, fault, signal }: CallToGate,
  run: (args: unknown) => Promise<ToolResult>,
): Promise<ToolResult> {
  const mapping = gate.mappingOf(call.name)
  const { request, toRun, question } = await prepareToolCall(settingsFor(gate, call), { call, args, mapping, parse })
  let asked = fault === undefined ? request : thrower(fault)
  let idempotencyKey: string | undefined
  try {
    idempotencyKey = callKey(gate.idempotencyKey, call, question?.request.agent_id)
  } catch (error) {
    asked = thrower(error)
  }
  let isRunning = false
  try {
    const admission = await gate.point.admit(asked, { signal, tag: call.name, nested: 'share', idempotencyKey })
    const action = (given: GuardRun): Promise<ToolResult> => {
      isRunning = true
      return runs.run(given, run, toRun())
    }
    return withDecision(await gate.point.run(admission, action, { outcome: outcomeOfResult }), admission)
  } catch (error) {
    if (isRunning || !DeniedError.isInstance(error)) throw error
    if (gate.denyAs === 'error') throw new RefusedCall(error)
    return denialResult(error)
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
