/** Which tools a model is not shown, because they may never run. Hiding enforces nothing: the guard does, in each call. */
import { warnOfFault } from '../reporting/operator-faults.js'
import type { ToolGuard } from './tool-guard.js'
import { agentOfTool, type CalledTool } from './tool-question.js'

/** How long an answer counts, in milliseconds. A new policy shows its tools after that time at the latest. */
const KNOWN_MS = 10_000

export class HiddenTools<Call extends CalledTool> {
  readonly #guard: ToolGuard<Call, string>
  /** Forbidden actions, by the question about them. */
  readonly #known = new Map<string, { readonly untilMs: number; readonly forbidden: Promise<ReadonlySet<string>> }>()

  constructor(guard: ToolGuard<Call, string>) {
    this.#guard = guard
  }

  /**
   * All tools except those that the guard never asks about, and those whose action is denied to the agent in every case.
   * If the decision point gives no answer, the latter are not hidden.
   *
   * @param call for the function `agentId`: a call of no tool yet
   * @param agentId in place of the guard's, if it depends on more than the guard
   */
  async without<Tool>(tools: readonly Tool[], call: Call, agentId = this.#guard.agentId): Promise<Tool[]> {
    if (this.#guard.point.mode === 'observe') return [...tools]
    const actions = new Map(tools.map((tool) => [tool, this.#actionOf(Object(tool).name)]))
    const taken = tools.filter((tool) => actions.get(tool) !== null)
    try {
      const fixed = [...new Set(actions.values())].filter((action) => typeof action === 'string')
      const agent_id = agentOfTool(agentId, call)
      const forbidden = await this.#forbidden(agent_id, fixed.sort())
      return taken.filter((tool) => !forbidden.has(actions.get(tool) ?? ''))
    } catch (error) {
      warnOfFault(error)
      return taken
    }
  }

  /** Null if the guard never asks about the tool; undefined if it depends on the call, and for tools of the model's provider. */
  #actionOf(name: unknown): string | null | undefined {
    if (typeof name !== 'string') return undefined
    const mapping = this.#guard.mappingOf(name)
    const action = typeof mapping === 'object' ? mapping.action : mapping
    if (typeof action === 'string') return action
    if (typeof action === 'function') return undefined
    try {
      return this.#guard.actionOf(name)
    } catch {
      return null
    }
  }

  #forbidden(agent_id: string | undefined, actions: readonly string[]): Promise<ReadonlySet<string>> {
    const now = Date.now()
    for (const [key, { untilMs }] of this.#known) if (untilMs <= now) this.#known.delete(key)
    const key = JSON.stringify([agent_id, actions])
    const known = this.#known.get(key)
    if (known !== undefined) return known.forbidden
    const forbidden = this.#ask(agent_id, actions)
    this.#known.set(key, { untilMs: now + KNOWN_MS, forbidden })
    forbidden.catch(() => this.#known.delete(key))
    return forbidden
  }

  async #ask(agent_id: string | undefined, actions: readonly string[]): Promise<ReadonlySet<string>> {
    if (actions.length === 0) return new Set()
    const { data } = await this.#guard.client.capabilities({ agent_id, actions: [...actions] })
    const forbidden = data.filter(({ effects }) => effects.every((effect) => effect === 'deny'))
    return new Set(forbidden.map(({ action }) => action))
  }
}
