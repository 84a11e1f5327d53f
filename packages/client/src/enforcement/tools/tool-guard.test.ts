import { expect, it } from 'vitest'
import { Countersign } from '../../index.js'
import { toolGuard } from './tool-guard.js'

it('asks for the agent that a class of options gives by a getter', () => {
  class Options {
    client = new Countersign({ apiKey: 'key-of-a-test', agentId: 'agent:own' })

    get agentId() {
      return 'agent:a'
    }
  }
  expect(toolGuard('guardTools', new Options(), { deny: 'throw' })).toMatchObject({ agentId: 'agent:a' })
})

it('enforces by the settings that a class of options gives by getters', () => {
  class Options {
    client = new Countersign({ apiKey: 'key-of-a-test', agentId: 'agent:own' })

    get mode() {
      return 'observe' as const
    }
  }
  expect(toolGuard('guardTools', new Options(), { deny: 'throw' }).point.mode).toBe('observe')
})
