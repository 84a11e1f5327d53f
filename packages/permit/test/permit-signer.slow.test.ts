import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { claims } from './permit-fixture.js'

const PROGRAM = `
  import { once } from 'node:events'
  import { generateSigningKey } from '@countersign/permit'
  import { PermitSigner } from '@countersign/permit/signer'
  const [key, signer] = [generateSigningKey(), new PermitSigner()]
  const signTogether = () => Promise.all([1, 2].map(() => signer.sign(key, ${JSON.stringify(claims)})))
  const started = once(process, 'worker')
  await signTogether()
  const [thread] = await started
  const alive = setInterval(() => {}, 1000)
  await once(thread, 'message')
  clearInterval(alive)
  console.log((await signTogether()).length)
`

test('the thread keeps a process alive while it signs, and no longer', () => {
  const run = spawnSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
    timeout: 30_000,
  })
  expect(run).toMatchObject({ status: 0, stdout: '2\n', stderr: '' })
})

test('where no thread can start, the calling thread signs, with a warning', () => {
  const program = `
    import { generateSigningKey } from '@countersign/permit'
    import { PermitSigner } from '@countersign/permit/signer'
    const [key, signer] = [generateSigningKey(), new PermitSigner()]
    const permits = await Promise.all([1, 2].map(() => signer.sign(key, ${JSON.stringify(claims)})))
    console.log(permits.length, permits[0] === permits[1])
  `
  // Its name since Node 24, which does not know the former one.
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission'
  const flags = [permission, '--allow-fs-read=*', '--input-type=module']
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const run = spawnSync(process.execPath, [...flags, '--eval', program], { cwd, encoding: 'utf8', timeout: 30_000 })
  expect(run).toMatchObject({ status: 0, stdout: '2 true\n' })
  expect(run.stderr).toContain('COUNTERSIGN_SIGNING_THREAD_ENDED')
})
