/** The self-test of guards, through clients of both SDKs. */
import { type GuardCanary, verifyGuard } from '@countersign/client/verify'
import { type GateOptions, gate, gateTransport } from '@countersign/mcp'
import { EFFECTS, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { describe, expect, it } from 'vitest'
import { Rig } from './rig.js'
import { type HighLevelServer, SDKS } from './sdks.js'

const point = useDecisionPoint()

/** How a server is gated: by itself, by its transport, or not at all. */
const PLACEMENTS = {
  gate: (server: HighLevelServer, options: GateOptions) => {
    gate(server, options)
    return {}
  },
  gateTransport: (_server: HighLevelServer, options: GateOptions) => ({
    around: <Transport extends object>(transport: Transport) => gateTransport(transport as never, options) as Transport,
  }),
  nothing: () => ({}),
}

describe.concurrent.each(SDKS)('$name', ({ mcpServer, connect }) => {
  const verify = async (placement: keyof typeof PLACEMENTS) => {
    const rig = await Rig.open(point())
    const canary = (name: (typeof EFFECTS)[number]): GuardCanary => {
      let runCount = 0
      return {
        async attempt(client) {
          const server = mcpServer()
          server.registerTool(name, {}, () => {
            runCount += 1
            return { content: [] }
          })
          const connected = await connect(
            server,
            PLACEMENTS[placement](server, { client: client as never, map: CANARY }),
          )
          await connected.call(name, {}).finally(() => connected.close())
        },
        runs: () => runCount,
      }
    }
    return verifyGuard({
      client: rig.client,
      allowed: canary('allow'),
      denied: canary('deny'),
      review: canary('review'),
    })
  }

  it.each(['gate', 'gateTransport'] as const)('passes %s', async (placement) => {
    const { ok, checks } = await verify(placement)
    expect(checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([])
    expect(ok).toBe(true)
  })

  it('fails a server that is not gated', async () => {
    expect(await verify('nothing')).toMatchObject({ ok: false })
  })
})

/** Tools that take no arguments. */
const CANARY = Object.fromEntries(EFFECTS.map((effect) => [effect, { action: `t.${effect}` }]))
