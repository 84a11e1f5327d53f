/** A real decision point, and servers whose tools are named after how it decides about them. */
import { Countersign, type CountersignOptions, type EnforcementEvent } from '@countersign/client'
import { type GateOptions, gate, type ToolMapping } from '@countersign/mcp'
import { Operator, type RealDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { z } from 'zod'
import type { CallResult, HighLevelServer, ToolConfig, ToolWork } from './sdks.js'

export const EFFECTS = ['allow', 'deny', 'review', 'log'] as const

/** A key that may ask and settle, an agent that nobody else is, and policies for the tools. */
export class Rig {
  readonly operator: Operator
  readonly client: Countersign
  readonly agentId = `agent:${crypto.randomUUID().slice(0, 8)}`
  readonly events: EnforcementEvent[] = []
  readonly #options: CountersignOptions

  private constructor(point: RealDecisionPoint, apiKey: string) {
    this.operator = new Operator(point)
    this.#options = { baseUrl: point.url, apiKey, timeoutMs: 20_000, connectTimeoutMs: 20_000, agentId: this.agentId }
    this.client = this.newClient()
  }

  static async open(point: RealDecisionPoint): Promise<Rig> {
    const rig = new Rig(point, await new Operator(point).makeKey())
    for (const effect of EFFECTS) await rig.operator.makePolicy(`t.${effect}`, effect).catch(() => undefined)
    return rig
  }

  newClient(change: CountersignOptions = {}): Countersign {
    return new Countersign({ ...this.#options, ...change })
  }

  /** For every kind of gate. */
  options(change: Partial<GateOptions> = {}): GateOptions {
    return { client: this.client, map: MAP, onEvent: (event) => this.events.push(event), ...change }
  }

  gate<Server extends { connect(transport: never): Promise<void> }>(
    server: Server,
    change: Partial<GateOptions> = {},
  ): Server {
    return gate(server, this.options(change))
  }

  /** Ids of the decisions that were asked for since the last time, each once, in order. */
  decisionIds(): string[] {
    const events = this.events.splice(0)
    return [...new Set(events.flatMap((event) => (event.type === 'decision' ? [event.decision.id] : [])))]
  }

  /** What became of the decisions since the last time, in the order in which they were asked for. */
  async statuses(): Promise<string[]> {
    await this.client.flush()
    return Promise.all(this.decisionIds().map(async (id) => (await this.operator.decision(id)).status))
  }
}

/** Tools `allow`, `deny`, `review` and `log`, and what maps them. */
export const MAP: Record<string, ToolMapping> = Object.fromEntries(
  EFFECTS.map((effect) => [effect, { action: `t.${effect}`, resource: (a) => `order:${a.n}`, context: (a) => a }]),
)

/** What the tools of `withTools` take. */
export const CONFIG: ToolConfig = { description: 'does it', inputSchema: z.object({ n: z.number() }) }

export const say = (text: string): CallResult => ({ content: [{ type: 'text', text }] })

/** Registers the tools, which note their runs. */
export function withTools<Server extends HighLevelServer>(
  server: Server,
  runs: string[],
  work: ToolWork = ({ n }) => say(`did ${n}`),
): Server {
  for (const name of EFFECTS)
    server.registerTool(name, CONFIG, (args, context) => {
      runs.push(`${name} ${args.n}`)
      return work(args, context)
    })
  return server
}

/** All that a result says in words. */
export function textOf({ content }: CallResult): string {
  return content.map(({ text }) => text).join('\n')
}

/** What a result tells of the decision. */
export function decisionOf({ _meta }: CallResult): unknown {
  return _meta?.['countersign/decision']
}
