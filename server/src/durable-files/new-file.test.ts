import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fillNewFile } from './new-file.js'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-new-file-'))
  path = join(folder, 'copy')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('a file that is made', () => {
  test('is what it was filled with, for its owner alone, and all that is added to the folder', async () => {
    // Of somebody else, by a name that one of ours could have.
    writeFileSync(`${path}.1.tmp`, 'theirs')
    await fillNewFile(path, (temporary) => {
      writeFileSync(temporary, 'ours')
      writeFileSync(`${temporary}-wal`, '')
    })
    expect(readFileSync(path, 'utf8')).toBe('ours')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder).sort()).toEqual(['copy', 'copy.1.tmp'])
  })

  test('replaces none, not even one that comes while it is filled', async () => {
    const filled = fillNewFile(path, (temporary) => {
      writeFileSync(temporary, 'ours')
      writeFileSync(path, 'theirs')
    })
    await expect(filled).rejects.toMatchObject({ code: 'EEXIST' })
    expect(readFileSync(path, 'utf8')).toBe('theirs')
    expect(readdirSync(folder)).toEqual(['copy'])
  })

  test('is not there when it could not be filled', async () => {
    const filled = fillNewFile(path, () => Promise.reject(new Error('full')))
    await expect(filled).rejects.toThrow('full')
    expect(readdirSync(folder)).toEqual([])
  })
})
