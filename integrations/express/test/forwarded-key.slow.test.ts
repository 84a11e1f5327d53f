/** A gateway and the service behind it, as two programs that share a decision point and an API key. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { afterAll, beforeAll, expect, it } from 'vitest'

const point = useDecisionPoint()
const children: ChildProcess[] = []
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-forwarded-'))
  await symlink(fileURLToPath(new URL('../../../node_modules', import.meta.url)), join(folder, 'node_modules'))
  const { url, apiKey } = point()
  await fetch(`${url}/v1/policies`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'payments', rules: [{ action: 'payment.create', effect: 'allow' }] }),
  })
})
afterAll(async () => {
  const ended = children.map((child) => once(child, 'exit'))
  for (const child of children) child.disconnect()
  await Promise.all(ended)
  await rm(folder, { recursive: true, force: true })
})

/**
 * Starts the app as a program of that name, and says where it listens.
 *
 * @param by an installed package that starts it, in its place
 */
async function started(name: string, env: NodeJS.ProcessEnv = {}, by?: string): Promise<string> {
  const { url, apiKey } = point()
  const app = join(folder, name, 'dist', 'app.mjs')
  await mkdir(join(folder, name, 'dist'), { recursive: true })
  await writeFile(join(folder, name, 'package.json'), JSON.stringify({ name }))
  // As builds leave one behind to say what kind of modules these are.
  await writeFile(join(folder, name, 'dist', 'package.json'), '{ "type": "module" }')
  await copyFile(fileURLToPath(new URL('./forwarding-app.mjs', import.meta.url)), app)
  const starter = join(folder, name, 'node_modules', by ?? 'none', 'main.mjs')
  if (by !== undefined) {
    await mkdir(dirname(starter), { recursive: true })
    await writeFile(join(dirname(starter), 'package.json'), JSON.stringify({ name: by }))
    await writeFile(starter, `import ${JSON.stringify(pathToFileURL(app).href)}`)
  }
  const child = fork(by === undefined ? app : starter, {
    cwd: join(folder, name),
    env: { PATH: process.env.PATH, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: apiKey, ...env },
  })
  children.push(child)
  const [listening] = await once(child, 'message')
  return listening as string
}

async function pay(url: string, key: string) {
  const answer = await fetch(`${url}/payments/17`, { method: 'POST', headers: { 'idempotency-key': key } })
  return [answer.status, await answer.json()]
}

it('a key that a gateway forwards is a key of its own in the service behind it, and the same in its replicas', async () => {
  const service = await started('booking')
  const gateway = await started('gateway', { NEXT: service })
  expect(await pay(gateway, 'k1')).toEqual([200, { paid: '17' }])
  expect(await pay(gateway, 'k1')).toMatchObject([403, { code: 'already_claimed' }])

  const replica = await started('booking')
  expect(await pay(replica, 'k1')).toMatchObject([403, { code: 'already_claimed' }])
  expect(await pay(replica, 'k2')).toEqual([200, { paid: '17' }])
}, 30_000)

it('two services that one framework starts are two services, and replicas of one are one', async () => {
  const service = await started('ledger', {}, '@cloud/functions-framework')
  const gateway = await started('entrance', { NEXT: service }, '@cloud/functions-framework')
  expect(await pay(gateway, 'k5')).toEqual([200, { paid: '17' }])
  expect(await pay(service, 'k5')).toMatchObject([403, { code: 'already_claimed' }])
}, 30_000)

it('two services of one name are told apart by their scope', async () => {
  const service = await started('same', { SCOPE: 'ledger' })
  const unscoped = await started('same', { NEXT: service })
  expect(await pay(unscoped, 'k1')).toEqual([200, { paid: '17' }])
  const gateway = await started('same', { SCOPE: 'ledger', NEXT: service })
  expect(await pay(gateway, 'k3')).toMatchObject([403, { code: 'already_claimed' }])
}, 30_000)
