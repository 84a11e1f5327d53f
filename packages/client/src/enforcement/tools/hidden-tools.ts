/** Which tools a model is not shown, because they may never run. Hiding enforces nothing: the guard does, in each call. */
import type { CountersignClient } from '../../countersign-client.js'
import { warnOfFault } from '../operator-faults.js'
import {
  agentOfTool,
  type CalledTool,
  fixedActionOf,
  type QuestionSettings,
  type ToolMapping,
} from './tool-question.js'

/** How long an answer counts, in milliseconds: a new policy shows its tools that late. */
const KNOWN_MS = 10_000

interface Known {
  readonly untilMs: number
  readonly forbidden: Promise<ReadonlySet<string>>
}

/** Where the guard asks, whose tools these are. */
interface AskingGuard<Call> extends QuestionSettings<Call> {
  readonly client: Pick<CountersignClient, 'capabilities'>
  readonly point: QuestionSettings<Call>['point'] & { readonly mode: 'enforce' | 'observe' }
}

export class HiddenTools<Call extends CalledTool> {
  readonly #guard: AskingGuard<Call>
  readonly #mappingOf: (tool: string) => ToolMapping<Call> | undefined
  readonly #known = new Map<string, Known>()

  constructor(guard: AskingGuard<Call>, mappingOf: (tool: string) => ToolMapping<Call> | undefined) {
    this.#guard = guard
    this.#mappingOf = mappingOf
  }

  /**
   * All tools but those that the guard takes none of, and those whose action is denied to the agent whatever it is about. Where
   * nobody knows the latter, they are not hidden.
   *
   * @param call what `agentId` reads the agent from: of no tool yet
   * @param agentId in place of the guard's, where it depends on more than the guard
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

  /** Null where the guard takes none; undefined where it depends on the call, and for tools of the model's provider. */
  #actionOf(name: unknown): string | null | undefined {
    if (typeof name !== 'string') return undefined
    const mapping = this.#mappingOf(name)
    const fixed = fixedActionOf(mapping)
    if (fixed !== undefined || typeof mapping === 'function' || typeof Object(mapping).action === 'function')
      return fixed
    try {
      return this.#guard.point.actionOf(name)
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
    const { data } = await this.#guard.client.capabilities({
      ...(agent_id !== undefined && { agent_id }),
      actions: [...actions],
    })
    return new Set(
      data.filter(({ effects }) => effects.every((effect) => effect === 'deny')).map(({ action }) => action),
    )
  }
}
