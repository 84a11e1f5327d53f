/** A replica that was frozen knows nothing of it: what it says first afterwards is the new answer, or 503. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { stress, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { type Answer, call } from '../../process/call.js'
import { CHOSEN_KEY } from '../../process/shipped-server.js'
import { done, newDatabase, removeReplicas, startReplica } from './replicas.js'

afterEach(removeReplicas)

/** More than the promise, so that the change has to count; the first not by much. */
const FREEZES_MS = [2500, 6000]

/** `T` for a process that was stopped. */
const stateOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0]

const policy = (effect: string) => ({ name: 'flip', rules: [{ action: 'payment.refund', effect }] })

it('a policy, a suspension and a key that changed while it was frozen', async () => {
  const url = newDatabase()
  const [awake, frozen] = [await startReplica({ url }), await startReplica({ url })]
  const { id } = await done(awake.call('POST', '/v1/policies', { body: policy('allow') }))
  const told: Record<string, number> = {}
  for (let round = 0; round < stress.replica_rounds; round++) {
    const agent_id = `agent:${round}`
    const ask = (key: string, agent: string): Promise<Answer> =>
      call(frozen.url, 'POST', '/v1/decisions', { key, body: { agent_id: agent, action: 'payment.refund' } })
    const { id: keyId, key } = await done(
      awake.call('POST', '/v1/keys', { body: { name: 'k', scopes: ['decisions:write'] } }),
    )
    await done(awake.call('PUT', `/v1/policies/${id}`, { body: policy('allow') }))
    await until('all to be allowed', async () =>
      (await ask(key, agent_id)).body.effect === 'allow' ? true : undefined,
    )
    // Whether a connection is open already, or not.
    await ask(key, agent_id)

    frozen.signal('SIGSTOP')
    await until('it to stand still', () => (stateOf(frozen.pid) === 'T' ? true : undefined))
    await done(awake.call('PUT', `/v1/policies/${id}`, { body: policy('deny') }))
    await done(awake.call('POST', `/v1/agents/${agent_id}/suspend`, { body: {} }))
    expect((await awake.call('DELETE', `/v1/keys/${keyId}`)).status).toBe(204)
    await sleep(FREEZES_MS[round % 2])
    let answers = 0
    const waiting = [ask(CHOSEN_KEY, 'agent:other'), ask(CHOSEN_KEY, agent_id), ask(key, 'agent:other')]
    for (const one of waiting) void one.finally(() => answers++)
    await sleep(50)
    // It has not looked since: whatever it knows is from before.
    expect([stateOf(frozen.pid), answers]).toEqual(['T', 0])
    frozen.signal('SIGCONT')
    const [ofPolicy, ofAgent, ofKey] = (await Promise.all(waiting)) as [Answer, Answer, Answer]
    for (const { status, body } of [ofPolicy, ofAgent, ofKey]) {
      const what = body.code ?? body.reason_code
      told[what] = (told[what] ?? 0) + 1
      expect(body.permit_token).toBeUndefined()
      if (status !== 503) expect(body.effect === 'deny' || status === 401, JSON.stringify(body)).toBe(true)
    }
    if (ofAgent.status === 200) expect(ofAgent.body.reason_code).toBe('agent_suspended')
    if (ofKey.status !== 503) expect(ofKey.status).toBe(401)
    await until('it to serve again', async () => ((await ask(CHOSEN_KEY, 'agent:b')).status === 200 ? true : undefined))
  }
  console.log(`first answers after a freeze: ${JSON.stringify(told)}`)
})
