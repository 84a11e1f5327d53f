/** What the trial of a guard writes at a real decision point, and what is left of it when its process dies. */
import { Countersign } from '@countersign/client'
import { type GuardCanary, type VerifyGuardOptions, verifyGuard } from '@countersign/client/verify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { useDecisionPoint } from './running-point.js'

const point = useDecisionPoint()
let admin: Countersign
beforeEach(() => {
  admin = new Countersign({ baseUrl: point().url, apiKey: point().apiKey, connectTimeoutMs: 15_000 })
})
afterEach(async () => {
  for await (const { id } of admin.policies.list()) await admin.policies.delete(id)
  admin.close()
})

/** A canary behind `client.guard`. */
function canary(asked: {
  readonly agent_id: string
  readonly action: string
  readonly resource?: string
}): GuardCanary {
  let runs = 0
  const run = (): void => {
    runs += 1
  }
  return { asked, attempt: (own) => own.guard(asked, run), runs: () => runs }
}

/** Tries out canaries as if the process were killed before it deletes what it has written. */
async function killed(options: Omit<VerifyGuardOptions, 'client' | 'admin'>): Promise<void> {
  const deleting = vi.spyOn(admin.policies, 'delete').mockResolvedValue()
  await verifyGuard({ client: admin, admin, ...options })
  expect(deleting).toHaveBeenCalledTimes(1)
  deleting.mockRestore()
}

describe('verifyGuard', () => {
  const agent_id = 'agent:canary'
  const of = (resource?: string) => canary({ agent_id, action: 'canary.run', ...(resource && { resource }) })

  it.each([
    ['the one that is allowed has no resource', [undefined, 'canary:2', 'canary:3']],
    ['the one that is denied has no resource', ['canary:1', undefined, 'canary:3']],
    ['the one that awaits a review has no resource', ['canary:1', 'canary:2', undefined]],
    ['all have one', ['canary:1', 'canary:2', 'canary:3']],
  ])('decides about canaries of one action where %s', async (_which, [allowed, denied, review]) => {
    const canaries = { allowed: of(allowed), denied: of(denied), review: of(review) }
    const { ok, checks } = await verifyGuard({ client: admin, admin, ...canaries })
    expect(checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([])
    expect(ok).toBe(true)
    expect((await admin.policies.list().page()).data).toEqual([])
  })

  it('leaves nothing that lets anything run, when it is killed', async () => {
    const allowed = of('canary:1')
    await killed({ allowed, required: ['allowed'] })
    expect((await admin.policies.list().page()).data).toHaveLength(1)
    for (const resource of ['canary:1', 'canary:2', undefined]) {
      const request = { agent_id, action: 'canary.run', ...(resource && { resource }) }
      expect((await admin.authorize(request)).status).toBe('denied')
    }
    expect(allowed.runs()).toBe(1)
  })

  it('leaves nothing that decides about any other question, when it is killed', async () => {
    const canaries = { allowed: of('canary:1'), denied: of('canary:2'), review: of('canary:3') }
    await killed(canaries)
    await admin.policies.create({ name: 'all', rules: [{ action: '*', effect: 'allow' }] })
    for (const other of [{ resource: 'canary:4' }, {}, { agent_id: 'agent:b', resource: 'canary:2' }]) {
      expect((await admin.authorize({ agent_id, action: 'canary.run', ...other })).effect).toBe('allow')
    }
  })
})
