/** What tests of guarded tools begin with: tools that are named after how a real decision point decides about them. */
import { Operator, type RealDecisionPoint } from './operator.js'

export const EFFECTS = ['allow', 'deny', 'review', 'log'] as const

interface FlushableClient {
  flush(): Promise<unknown>
}

/** An event of a guard, as far as a rig reads it. */
interface GuardEvent {
  readonly type: string
  readonly decision?: { readonly id: string } | null
}

/**
 * A key that may ask and settle, an agent that nobody else is, and policies for the tools. An integration adds its
 * client and its guard: this package is built before the client, so it cannot import it.
 */
export abstract class ToolRig<Client extends FlushableClient, Event extends GuardEvent> {
  readonly operator: Operator
  readonly client: Client
  readonly agentId = `agent:${crypto.randomUUID().slice(0, 8)}`
  readonly events: Event[] = []
  protected readonly clientOptions

  constructor(point: RealDecisionPoint, apiKey: string) {
    this.operator = new Operator(point)
    this.clientOptions = {
      baseUrl: point.url,
      apiKey,
      timeoutMs: 20_000,
      connectTimeoutMs: 20_000,
      agentId: this.agentId,
    }
    this.client = this.newClient()
  }

  static async open<Rig extends { readonly operator: Operator }>(
    this: new (
      point: RealDecisionPoint,
      apiKey: string,
    ) => Rig,
    point: RealDecisionPoint,
  ): Promise<Rig> {
    const rig = new this(point, await new Operator(point).makeKey())
    for (const effect of EFFECTS) await rig.operator.makePolicy(`t.${effect}`, effect).catch(() => undefined)
    return rig
  }

  /** A client with `clientOptions`. */
  abstract newClient(): Client

  /** Ids of the decisions that were asked for since the last time, each once, in order. */
  decisionIds(): string[] {
    const events = this.events.splice(0)
    return [...new Set(events.flatMap(({ type, decision }) => (type === 'decision' && decision ? [decision.id] : [])))]
  }

  /** What became of the decisions since the last time, in the order in which they were asked for. */
  async statuses(): Promise<string[]> {
    await this.client.flush()
    return Promise.all(this.decisionIds().map(async (id) => (await this.operator.decision(id)).status))
  }
}
