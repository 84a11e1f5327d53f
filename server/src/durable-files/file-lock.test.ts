import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FileLockError, takeFileLock, whileLocked } from './file-lock.js'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-lock-'))
  path = join(folder, 'lock')
})
afterEach(() => rmSync(folder, { recursive: true }))

it('has one holder at a time, in a file for its owner alone', () => {
  const release = takeFileLock(path)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(takeFileLock(path)).toBeNull()
  release?.()
  takeFileLock(path)?.()
})

it('is waited for, one work after the other', async () => {
  const steps: string[] = []
  const work = (name: string) => async () => {
    steps.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    steps.push(`${name} ends`)
    return name
  }
  expect(await Promise.all(['a', 'b'].map((name) => whileLocked(path, work(name))))).toEqual(['a', 'b'])
  expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})

it('is let go of when the work fails', async () => {
  await expect(whileLocked(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  takeFileLock(path)?.()
  expect(await whileLocked(path, async () => 1)).toBe(1)
})

it('is not waited for without end', async () => {
  const release = takeFileLock(path)
  await expect(whileLocked(path, async () => 1, 30)).rejects.toThrow(FileLockError)
  release?.()
})
