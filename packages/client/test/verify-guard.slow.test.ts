/** The self-test of a guard: it passes the real one, and fails by name each that lets through what it should stop. */
import { describe, expect, it } from 'vitest'
import { type CountersignClient, type Decision, DeniedError, isPermitted } from '../src/index.js'
import { type GuardCanary, type GuardCheckName, type VerifyGuardOptions, verifyGuard } from '../src/verify.js'
import { memoryClient, permission, type Sent, settled } from './memory-client.js'
import { rejectionOf } from './transports.js'

const NAMES = [
  'allowed',
  'denied',
  'review',
  'unreachable',
  'hanging',
  'error',
  'garbage',
  'unknown_effect',
  'other_agent',
] as const

/** Decides by the last word of the action; a review goes on for ever. */
function decide(sent: Sent) {
  if (/\/(confirm|reject)$/.test(sent.path)) return settled(sent)
  if (sent.path !== '/v1/decisions') return new Promise<never>(() => undefined)
  const effect = String(sent.body.action).split('.').at(-1)
  if (effect === 'allow') return permission(sent)
  const status = effect === 'deny' ? 'denied' : 'awaiting_review'
  return permission(sent, { effect: effect as never, status, permit_token: undefined as never })
}

/** Somebody's guard: asks the client whether `run` may run. */
type Guarding = (client: CountersignClient, action: string, run: () => void) => unknown

function canary(guarding: Guarding, action: string): GuardCanary {
  let runs = 0
  return {
    attempt: (client) =>
      guarding(client, action, () => {
        runs += 1
      }),
    runs: () => runs,
  }
}

function verify(guarding: Guarding, options: Partial<VerifyGuardOptions> = {}) {
  const client = memoryClient(decide)
  const [allowed, denied, review] = ['canary.allow', 'canary.deny', 'canary.review'].map((action) =>
    canary(guarding, action),
  )
  return verifyGuard({ client, allowed: allowed as GuardCanary, denied, review, timeoutMs: 2_000, ...options })
}

/** The names of the checks that ended so. */
async function ended(outcome: string, verification: ReturnType<typeof verify>): Promise<GuardCheckName[]> {
  return (await verification).checks.filter((check) => check.outcome === outcome).map(({ name }) => name)
}

const asking = (client: CountersignClient, action: string): Promise<Decision> => client.authorize({ action })

describe('verifyGuard', () => {
  it.each<[string, Guarding]>([
    ['guard', (client, action, run) => client.guard({ action }, run)],
    ['guard that waits for reviews', (client, action, run) => client.guard({ action }, run, { review: 'wait' })],
    ['protect', (client, action, run) => client.protect(run, { action })()],
    [
      'isPermitted',
      async (client, action, run) => {
        const asked = { agent_id: 'agent:a', action }
        if (isPermitted(await client.authorize(asked), asked)) run()
      },
    ],
  ])('passes %s', async (_name, guarding) => {
    const { ok, checks } = await verify(guarding)
    expect(checks.map(({ name, outcome }) => [name, outcome])).toEqual(NAMES.map((name) => [name, 'pass']))
    expect(ok).toBe(true)
  })

  const gone = ['unreachable', 'hanging', 'error', 'garbage', 'unknown_effect', 'other_agent'] as const
  it.each<[string, Guarding, readonly GuardCheckName[]]>([
    ['asks nobody', (_client, _action, run) => run(), NAMES],
    [
      'only observes',
      (client, action, run) => client.guard({ action }, run, { mode: 'observe' }),
      ['denied', 'review', ...gone],
    ],
    [
      'runs on a deny',
      async (client, action, run) => {
        const { status } = await asking(client, action)
        if (status === 'authorized' || status === 'denied') run()
      },
      ['denied'],
    ],
    [
      'runs on a review',
      async (client, action, run) => {
        if ((await asking(client, action)).effect !== 'deny') run()
      },
      ['review'],
    ],
    [
      'runs when there is no answer',
      async (client, action, run) => {
        const decision = await asking(client, action).catch(() => undefined)
        if (decision === undefined || decision.status === 'authorized') run()
      },
      gone,
    ],
    [
      'runs before it asks',
      async (client, action, run) => {
        run()
        await asking(client, action)
      },
      ['denied', 'review', ...gone],
    ],
    [
      'runs twice',
      (client, action, run) =>
        client.guard({ action }, () => {
          run()
          run()
        }),
      ['allowed'],
    ],
    [
      'runs a moment after it was denied',
      async (client, action, run) => {
        const { status } = await asking(client, action)
        if (status === 'authorized') run()
        else setTimeout(run, 5)
      },
      ['denied', 'review'],
    ],
    [
      'runs when its wait for a review is cut off',
      async (client, action, run) => {
        const decision = await asking(client, action)
        if (decision.effect === 'review') {
          await client.decisions.waitForReview(decision).catch(() => new Promise((resolve) => setTimeout(resolve, 60)))
          run()
        } else if (decision.status === 'authorized') run()
      },
      ['review'],
    ],
    [
      'never answers when the decision point is gone',
      async (client, action, run) => {
        const decision = await asking(client, action).catch(() => new Promise<Decision>(() => undefined))
        if (decision.status === 'authorized') run()
      },
      gone,
    ],
  ])('fails by name a guard that %s', async (_how, guarding, names) => {
    const verification = verify(guarding, { timeoutMs: 600 })
    expect((await verification).ok).toBe(false)
    expect(await ended('fail', verification)).toEqual(names)
  })

  it('takes nothing for a pass that says nothing', async () => {
    const neverRuns = verify(async (client, action) => void (await asking(client, action)))
    expect((await neverRuns).ok).toBe(false)
    expect(await ended('pass', neverRuns)).toEqual(['denied', 'review'])
    expect(await ended('fail', neverRuns)).toEqual(['allowed'])
    expect(await ended('not_applicable', neverRuns)).toEqual(NAMES.slice(3))
    const ownClient = memoryClient(decide)
    const elsewhere = verify((_given, action, run) =>
      ownClient.guard({ action: action === 'canary.allow' ? 'canary.deny' : action }, run),
    )
    expect((await elsewhere).ok).toBe(false)
    expect(await ended('pass', elsewhere)).toEqual([])
    expect(await ended('not_applicable', elsewhere)).toEqual([...NAMES])
  })

  it('says so when the decision point decides otherwise, is away, or there is no canary', async () => {
    const guarding: Guarding = (client, action, run) => client.guard({ action }, run)
    const swapped = verify(guarding, {
      denied: canary(guarding, 'canary.allow'),
      review: canary(guarding, 'canary.deny'),
    })
    expect((await swapped).ok).toBe(false)
    expect(await ended('not_applicable', swapped)).toEqual(['denied', 'review'])
    expect((await swapped).checks[1]?.detail).toContain('allow (authorized)')
    const away = verify(guarding, { client: memoryClient(() => [503, { code: 'store_unavailable' }]) })
    expect([(await away).ok, await ended('pass', away)]).toEqual([false, []])
    const without = verify(guarding, { denied: undefined, review: undefined })
    expect([(await without).ok, await ended('not_applicable', without)]).toEqual([false, ['denied', 'review']])
  })

  it('requires every check unless it is told which; what fails counts in any case', async () => {
    const guarding: Guarding = (client, action, run) => client.guard({ action }, run)
    const required = NAMES.filter((name) => name !== 'review')
    expect((await verify(guarding, { review: undefined, required })).ok).toBe(true)
    const sloppy: Guarding = async (client, action, run) => {
      if ((await asking(client, action)).effect !== 'deny') run()
    }
    expect((await verify(sloppy, { required })).ok).toBe(false)
  })

  it('refuses faulty options', async () => {
    const guarding: Guarding = () => undefined
    const faulty: object[] = [
      { required: [] },
      { required: ['denies'] },
      { allowed: undefined },
      { denied: { attempt: () => 1 } },
      { timeoutMs: 0 },
      { canaries: [] },
      { admin: memoryClient(decide) },
      { allowed: { attempt: () => 1, runs: () => 'none' } },
    ]
    for (const options of faulty) expect(await rejectionOf(verify(guarding, options))).toBeInstanceOf(TypeError)
  })

  /** A decision point that holds policies of these names and ages, and what was asked of it. */
  function administered(policies: readonly object[] = [], answers: Readonly<Record<string, number>> = {}) {
    const sent: Sent[] = []
    const admin = memoryClient((one) => {
      sent.push(one)
      if ('name' in one.body) return [201, { id: 'pol_1', created_at: '2026-05-01T12:00:00.000Z' }]
      if (one.path === '/v1/policies') return [200, { data: policies, next_cursor: null }]
      return [answers[one.path] ?? 204, { code: 'not_found' }]
    })
    return { admin, sent }
  }

  const behindGuard = (action: string, resource?: string): GuardCanary => ({
    ...canary((client, name, run) => client.guard({ action: name, resource }, run), action),
    asked: { agent_id: 'agent:a', action, resource },
  })

  const onlyAllowed = { allowed: behindGuard('canary.allow'), denied: undefined, review: undefined }

  it('makes a policy for its canaries where it is given an admin, and deletes it', async () => {
    const { admin, sent } = administered([], { '/v1/policies/pol_1': 404 })
    const canaries = { allowed: behindGuard('canary.allow'), denied: behindGuard('canary.deny', 'canary:*') }
    expect((await verify(() => undefined, { admin, ...canaries, review: behindGuard('canary.review') })).ok).toBe(true)
    expect(sent.map(({ path }) => path)).toEqual(['/v1/policies', '/v1/policies', '/v1/policies/pol_1'])
    const conditions = { agent_id: { $eq: 'agent:a' }, resource: { $exists: false } }
    expect(sent[0]?.body).toMatchObject({
      name: expect.stringMatching(/^verifyGuard [0-9a-f-]{36}$/),
      priority: 1_000_000,
      rules: [
        { action: 'canary.deny', effect: 'deny', conditions: { resource: { $eq: 'canary:*' } }, on_unknown: 'skip' },
        { action: 'canary.review', effect: 'review', conditions, on_unknown: 'skip' },
        { action: 'canary.allow', effect: 'allow', conditions },
      ],
      budget: { limit: 1, unit: 'calls', amount: 1, period: 'total' },
    })
  })

  it('deletes the policies of trials that died, and no others', async () => {
    const of = (id: string, name: string, created_at: string) => ({ id, name, created_at })
    const trial = `verifyGuard ${crypto.randomUUID()}`
    const { admin, sent } = administered([
      of('pol_dead', trial, '2026-05-01T10:59:59.000Z'),
      of('pol_alive', trial, '2026-05-01T11:00:01.000Z'),
      of('pol_own', 'verifyGuard is what this is for', '2026-01-01T00:00:00.000Z'),
    ])
    await verify(() => undefined, { admin, ...onlyAllowed })
    expect(sent.slice(2).map(({ path }) => path)).toEqual(['/v1/policies/pol_dead', '/v1/policies/pol_1'])
  })

  it('deletes its policy also when it can delete no other', async () => {
    const dead = { id: 'pol_dead', name: `verifyGuard ${crypto.randomUUID()}`, created_at: '2026-01-01T00:00:00.000Z' }
    const { admin, sent } = administered([dead], { '/v1/policies/pol_dead': 403 })
    const failing = verify(() => undefined, { admin, ...onlyAllowed })
    expect(await rejectionOf(failing)).toMatchObject({ status: 403 })
    expect(sent.at(-1)?.path).toBe('/v1/policies/pol_1')
  })

  it('takes no two canaries that ask the same question', async () => {
    const { admin, sent } = administered()
    const [allowed, denied] = [behindGuard('canary.allow'), behindGuard('canary.allow')]
    expect(await rejectionOf(verify(() => undefined, { admin, allowed, denied }))).toBeInstanceOf(TypeError)
    expect(sent).toEqual([])
  })

  it('withdraws the reviews of its canaries', async () => {
    const transitions: string[] = []
    const client = memoryClient((sent) => {
      if (sent.path !== '/v1/decisions') transitions.push(sent.path.split('/').at(-1) ?? '')
      return decide(sent)
    })
    await verify((one, action, run) => one.guard({ action }, run), { client })
    expect(transitions).toEqual(['confirm', 'reject'])
  })

  it('leaves the errors of a guard to it', async () => {
    const { ok } = await verify((client, action, run) =>
      client.guard({ action }, run).catch((error: unknown) => {
        if (!DeniedError.isInstance(error)) throw error
      }),
    )
    expect(ok).toBe(true)
  })
})
