/** A real decision point, and servers whose tools are named after how it decides about them. */
import { Countersign, type CountersignOptions, type EnforcementEvent } from '@countersign/client'
import { type GateOptions, gate, type ToolMapping } from '@countersign/mcp'
import { EFFECTS, ToolRig, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { beforeAll, beforeEach } from 'vitest'
import { z } from 'zod'
import type { CallResult, HighLevelServer, ToolConfig, ToolWork } from './sdks.js'

export class Rig extends ToolRig<Countersign, EnforcementEvent> {
  newClient(change: CountersignOptions = {}): Countersign {
    return new Countersign({ ...this.clientOptions, ...change })
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
}

/** A rig for the tests of a file, which has no events when one of them begins. */
export function useRig(): () => Rig {
  const point = useDecisionPoint()
  let rig: Rig
  beforeAll(async () => {
    rig = await Rig.open(point())
  })
  beforeEach(() => {
    rig.events.length = 0
  })
  return () => rig
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
