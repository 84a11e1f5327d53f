import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { generateSigningKey, mintPermitSync, type PermitClaims } from '@countersign/permit'
import { PermitSigner } from '@countersign/permit/signer'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claims, key } from './permit-fixture.js'

let signer: PermitSigner
beforeEach(() => {
  signer = new PermitSigner()
})
afterEach(() => signer.close())

const numbered = (count: number): PermitClaims[] =>
  Array.from({ length: count }, (_, i) => ({ ...claims, jti: `dec_${i}` }))
const WANTED = numbered(8)
const PERMITS = WANTED.map((one) => mintPermitSync(key, one))
/** Asks for all of them in one step. */
const signTogether = (by = signer) => Promise.all(WANTED.map((one) => by.sign(key, one)))

/** The thread of the signer, once it runs, and how many batches it has answered. */
async function startThread(): Promise<{ thread: Worker; answers: () => number }> {
  const started = once(process, 'worker')
  await signTogether()
  const [thread] = (await started) as [Worker]
  expect(await once(thread, 'message')).toEqual(['ready'])
  let answers = 0
  thread.on('message', () => {
    answers += 1
  })
  return { thread, answers: () => answers }
}

/** The next warning of the process, without its stack. */
async function nextWarning(): Promise<string> {
  const [warning] = (await once(process, 'warning')) as [Error & { code: string }]
  return `${warning.code}: ${warning.message}`
}

test('permits that are wanted together are signed on a thread of their own, in one batch', async () => {
  const { answers } = await startThread()
  expect(await signTogether()).toEqual(PERMITS)
  expect(answers()).toBe(1)
})

test('a permit that is wanted alone is signed on the calling thread', async () => {
  const { answers } = await startThread()
  expect(await signer.sign(key, WANTED[0] as PermitClaims)).toBe(PERMITS[0])
  expect(answers()).toBe(0)
})

test('a permit that is wanted while others are being signed comes from the thread too', async () => {
  const { answers } = await startThread()
  const others = signTogether()
  await Promise.resolve()
  expect(await signer.sign(key, WANTED[0] as PermitClaims)).toBe(PERMITS[0])
  expect(await others).toEqual(PERMITS)
  expect(answers()).toBe(2)
})

test('until the thread runs, the calling thread signs', async () => {
  expect(await signTogether()).toEqual(PERMITS)
})

test('each permit is signed with the key that it was wanted for', async () => {
  const other = generateSigningKey()
  await startThread()
  const [one, another] = WANTED as [PermitClaims, PermitClaims]
  expect(await Promise.all([signer.sign(key, one), signer.sign(other, another)])).toEqual([
    mintPermitSync(key, one),
    mintPermitSync(other, another),
  ])
})

test('claims that a verifier would refuse are refused alone', async () => {
  const { answers } = await startThread()
  const refused = signer.sign(key, { ...claims, exp: claims.iat + 7200 })
  const permits = signTogether()
  await expect(refused).rejects.toThrow(TypeError)
  expect(await permits).toEqual(PERMITS)
  expect(answers()).toBe(1)
})

test('what a thread has not signed when it ends is signed on the calling thread, with a warning', async () => {
  const { thread } = await startThread()
  const warning = nextWarning()
  const permits = signTogether()
  await Promise.resolve()
  await thread.terminate()
  expect(await permits).toEqual(PERMITS)
  expect(await signTogether()).toEqual(PERMITS)
  expect(await warning).toMatch(/^COUNTERSIGN_SIGNING_THREAD_ENDED: The thread that signs permits has ended/)
})

test('an error in the thread ends it, and loses no permit', async () => {
  const { thread } = await startThread()
  const warning = nextWarning()
  thread.emit('error', new Error('out of memory'))
  const permits = signTogether()
  expect(await permits).toEqual(PERMITS)
  expect(await warning).toContain('out of memory')
  await once(thread, 'exit')
})

test('an answer that lacks signatures gives no permit that is not signed', async () => {
  const { thread } = await startThread()
  const permits = signTogether()
  await Promise.resolve()
  thread.emit('message', { number: 1, signatures: [null] })
  expect(await permits).toEqual(PERMITS)
})

test('an answer to no batch changes nothing', async () => {
  const { thread } = await startThread()
  const permits = signTogether()
  await Promise.resolve()
  thread.emit('message', { number: 7, signatures: ['x'] })
  expect(await permits).toEqual(PERMITS)
})

test('a closed signer still signs, and starts no thread', async () => {
  await startThread()
  await signer.close()
  expect(await signTogether()).toEqual(PERMITS)
  const fresh = new PermitSigner()
  await fresh.close()
  let threads = 0
  const count = () => {
    threads += 1
  }
  process.on('worker', count)
  expect(await signTogether(fresh)).toEqual(PERMITS)
  process.off('worker', count)
  expect(threads).toBe(0)
})
