/** Several processes change the signing keys at once: none takes back what another was told is done. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stress } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { openKeyring } from '#server/adapters/keyring/keyring'
import { systemClock } from '#server/adapters/system-clock'
import { takeFileLock } from '#server/durable-files/file-lock'
import { Child, endChildren } from './child.js'
import { newDirectory, removeDirectories } from './shipped-server.js'

const CHANGER = fileURLToPath(new URL('../processes/keyring-changer.mjs', import.meta.url))
const HOLDER = fileURLToPath(new URL('../processes/lock-holder.mjs', import.meta.url))
const ROUNDS = stress.signing_key_changes

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const open = (dataDir: string) => openKeyring({ dataDir, clock: systemClock() })
const run = (program: string, ...args: string[]) => new Child(process.execPath, [program, ...args])
const wordsOf = (child: Child) => child.stdout.trim().split('\n')

describe('signing keys that several processes change at once', () => {
  it('keep every change that was acknowledged', async () => {
    const dataDir = newDirectory()
    await open(dataDir)
    const changers = ['rotate', 'rotate', 'revoke', 'revoke'].map((what) => run(CHANGER, dataDir, what, String(ROUNDS)))
    for (const changer of changers)
      expect({ ...(await changer.end(60_000)), stderr: changer.stderr }).toEqual({ code: 0, signal: null, stderr: '' })
    const acknowledged = changers.flatMap(wordsOf)
    expect(acknowledged).toHaveLength(4 * ROUNDS)
    const { keys } = JSON.parse(readFileSync(join(dataDir, 'signing-keys.json'), 'utf8'))
    const kept = (await open(dataDir)).history().map(({ type, kid }) => `${type.replace('signing_key.', '')} ${kid}`)
    expect(kept).toEqual(expect.arrayContaining(acknowledged))
    expect(keys).toHaveLength(kept.filter((change) => change.startsWith('created')).length)
  })

  it('are not locked by a process that was killed', async () => {
    const dataDir = newDirectory()
    const keyring = await open(dataDir)
    const lock = join(dataDir, 'signing-keys.json.lock')
    const holder = run(HOLDER, lock)
    await holder.says(/held\n/)
    expect(takeFileLock(lock)).toBeNull()
    await holder.kill()
    const release = takeFileLock(lock)
    expect(release).not.toBeNull()
    release?.()
    await expect(keyring.rotate()).resolves.toHaveLength(2)
  })
})
