import { describe, expect, it } from 'vitest'
import { type EnforcementOptions, resolveEnforcement } from './enforcement-options.js'

describe('the options of enforcement', () => {
  it('have defaults that stop what is not permitted', () => {
    expect(resolveEnforcement({})).toMatchObject({
      mode: 'enforce',
      review: 'throw',
      unmapped: 'deny',
      timeoutMs: undefined,
      settleTimeoutMs: 1_000,
      now: expect.any(Function),
    })
  })

  it.each<[string, unknown]>([
    ['mode', 'shadow'],
    ['mode', null],
    ['onUnavailable', 'allow'],
    ['review', 'allow'],
    ['unmapped', 'allow'],
    ['settleOn', 'confirm'],
    ['onError', 'confirm'],
    ['onError', null],
    ['onError', () => 'leave'],
    ['timeoutMs', 0],
    ['timeoutMs', '5000'],
    ['reviewTimeoutMs', Number.NaN],
    ['settleTimeoutMs', -1],
    ['onEvent', {}],
    ['now', 5],
    ['failMode', 'open'],
  ])('refuse %s as %j, by its name', (name, value) => {
    const options = { [name]: value } as EnforcementOptions
    expect(() => resolveEnforcement(options)).toThrow(TypeError)
    expect(() => resolveEnforcement(options)).toThrow(name)
  })

  it('take undefined for absent', () => {
    const names = ['mode', 'review', 'unmapped', 'settleOn', 'onError', 'timeoutMs', 'onEvent', 'now']
    const options = Object.fromEntries(names.map((name) => [name, undefined]))
    expect(resolveEnforcement(options).mode).toBe('enforce')
  })

  it('refuse what is no object', () => {
    for (const options of [null, 'enforce', 5]) expect(() => resolveEnforcement(options as never)).toThrow(TypeError)
  })

  it('keep a listener from holding anything up', async () => {
    const event = {
      type: 'settled',
      decision_id: 'dec_1',
      settlement: { settle: 'leave' },
      ran: null,
      tag: null,
    } as const
    for (const onEvent of [
      () => {
        throw new Error('no')
      },
      () => Promise.reject(new Error('no')),
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: what a listener may return
        then: () => {
          throw new Error('no')
        },
      }),
    ]) {
      expect(resolveEnforcement({ onEvent }).report(event)).toBeUndefined()
    }
    await new Promise((resolve) => setImmediate(resolve))
  })
})
