/**
 * The life of one call, for every kind of gate: of a tool, or of another request that needs a decision. `runToolCall` of the client
 * has the steps. MCP adds legs, tasks, and questions of the server to its client.
 */
import type { ActionOutcome, Admission, DeniedError } from '@countersign/client'
import { type CallToRun, type PreparedCall, runToolCall } from '@countersign/client/kernel'
import type { ToolGate } from '../gate-options.js'
import { TOOL_CALL } from '../rules/methods.js'
import { taskOf } from '../tasks/tasks.js'
import type { AgentId, Caller, GatedCall } from './call.js'
import { type Brought, CallLeg, type LegOfCall } from './leg.js'
import { closedInput, namingCause, RefusedCall } from './refusals.js'
import { approverWords, denialResult, outcomeOfResult, requiresInput, type ToolResult, withDecision } from './result.js'

/** @param words the approver's comment, for the result of the task */
export type EndOfTask = (taskId: string, words: string | null) => Promise<ActionOutcome>

export interface CallToGate extends LegOfCall {
  readonly args: unknown
  /** Returns the arguments as the tool will receive them. The mapping reads these. */
  readonly parse?: ((args: unknown) => unknown) | undefined
  /** The client asks for a task and accepts no other result, so a refusal must be an error. */
  readonly wantsTask?: boolean | undefined
  /** The outcome of the task that answers the call. Default: unknown. */
  readonly endOfTask?: EndOfTask | undefined
}

/**
 * Resolves with the result of the tool, with a refusal, or with a request for input that carries a `requestState` of the gate. A task
 * is returned immediately and settled when it ends.
 *
 * @param work receives the decided arguments, and the part of `brought` that is for the tool
 * @throws what `work` throws; the signal's reason if the call was cancelled before it ran; RefusedCall if the gate refuses with
 * errors
 */
export function runCall(gate: ToolGate, call: CallToGate, work: Work): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    new CallRun(gate, call, work, resolve).settled().then(resolve, reject)
  })
}

type Work = (args: unknown, brought: Brought) => Promise<ToolResult>

class CallRun {
  /** Both are set on admission, before the call can pause or run. */
  #leg!: CallLeg
  #admission!: Admission
  #hasRun = false
  /** The outcome, if the result alone does not determine it. */
  #end: ActionOutcome | undefined
  #closed: RefusedCall | undefined

  /** @param answerNow sends the client a result before the call is settled */
  constructor(
    private readonly gate: ToolGate,
    private readonly called: CallToGate,
    private readonly work: Work,
    private readonly answerNow: (result: ToolResult) => void,
  ) {}

  async settled(): Promise<ToolResult> {
    try {
      return this.#answer(await runToolCall(gateOf(this.gate, this.called.call), this.#toRun))
    } catch (error) {
      if (error instanceof AsksClient) return error.resultOncePaused()
      throw error
    }
  }

  get #toRun(): CallToRun<GatedCall, ToolResult> {
    const { call, args, parse } = this.called
    return {
      ...{ call, args, parse },
      admit: (prepared) => this.#admit(prepared),
      pause: () => this.#pause(),
      run: (args) => this.#run(args),
      outcome: (result) => this.#end ?? outcomeOfResult(result),
      isPause: (error) => error instanceof AsksClient,
      refuse: (denied) => this.#refuse(namingCause(denied)),
    }
  }

  async #admit(prepared: PreparedCall): Promise<Admission> {
    this.#leg = new CallLeg(this.gate, this.called, prepared)
    this.#admission = await this.#leg.admit()
    return this.#admission
  }

  /** @throws AsksClient for a review that the user of the client answers */
  #pause(): false {
    const input = this.#leg.reviewInput(this.#admission)
    if (input !== undefined) throw new AsksClient(() => input)
    return false
  }

  /** @throws AsksClient if the tool needs input; what the tool throws */
  async #run(args: unknown): Promise<ToolResult> {
    const result = await this.work(args, this.#leg.brought)
    this.#hasRun = true
    this.#closed = closedInput(this.gate, result)
    if (this.#closed !== undefined) {
      // The tool may have acted before it asked. Do not settle by a task that the result also names.
      this.#end = { kind: 'unknown' }
      return result
    }
    if (requiresInput(result)) throw new AsksClient(() => this.#leg.toolInput(result, this.#admission))
    const taskId = taskOf(result)
    if (taskId !== undefined) await this.#settleByTask(taskId, result)
    return result
  }

  async #settleByTask(taskId: string, result: ToolResult): Promise<void> {
    const { endOfTask } = this.called
    this.answerNow(withDecision(result, this.#admission))
    this.#end = await outcomeOfTask(taskId, approverWords(this.#admission), endOfTask)
  }

  /** @throws RefusedCall if the refusal must be an error */
  #refuse(denied: DeniedError): ToolResult {
    if (!this.#isTool || this.gate.denyAs === 'error' || this.called.wantsTask) throw new RefusedCall(denied)
    return denialResult(denied)
  }

  /** @throws RefusedCall if the server may not ask for this input */
  #answer(result: ToolResult): ToolResult {
    if (this.#closed !== undefined) throw this.#closed
    if (!this.#hasRun) return result
    return withDecision(this.#isTool ? result : privately(result), this.#admission)
  }

  get #isTool(): boolean {
    return this.called.call.method === TOOL_CALL
  }
}

/** The call has not ended. It continues when the client repeats it with its answer. */
class AsksClient extends Error {
  constructor(readonly resultOncePaused: () => ToolResult) {
    super('the call requires input')
  }
}

async function outcomeOfTask(
  taskId: string,
  words: string | null,
  endOfTask: EndOfTask | undefined,
): Promise<ActionOutcome> {
  try {
    return (await endOfTask?.(taskId, words)) ?? { kind: 'unknown' }
  } catch (error) {
    return { kind: 'unknown', error }
  }
}

/** The call may be refused to another agent, so no shared cache may keep the result. */
function privately(result: ToolResult): ToolResult {
  return result.cacheScope === undefined ? result : { ...result, cacheScope: 'private' }
}

/** The gate as it asks about one call. */
function gateOf(gate: ToolGate, call: GatedCall): ToolGate {
  const agentId = agentIdFor(gate, call)
  if (call.method === TOOL_CALL) return { ...gate, agentId }
  const { rules } = gate
  const actionOf = (_name: string, mapped?: string): string => rules.actionOf(call, mapped)
  return { ...gate, agentId, actionOf, mappingOf: () => rules.mappingFor(call) }
}

/** How the agent of this caller is found. */
export function agentIdFor({ agentId }: ToolGate, { authInfo }: Caller): AgentId | undefined {
  // An authenticated caller without an id must not act as this program.
  return agentId ?? (authInfo && (() => authInfo.clientId))
}
