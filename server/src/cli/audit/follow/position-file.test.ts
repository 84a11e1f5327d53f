import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PositionFile } from './position-file.js'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'position-file-'))
  path = join(folder, 'position.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('a position file', () => {
  it('keeps the last cursor, also behind a link', async () => {
    const first = await PositionFile.open(path)
    expect(first.after).toBeNull()
    await first.save('a.b')
    await first.save('c.d')
    first.close()
    const link = join(folder, 'link')
    symlinkSync(path, link)
    const second = await PositionFile.open(link)
    expect(second.after).toBe('c.d')
    await second.save('e.f')
    second.close()
    expect(readFileSync(path, 'utf8')).toBe('{"countersign_audit_position":1,"after":"e.f"}\n')
  })

  it('is for one at a time, also by a link, and free again after an error', async () => {
    const first = await PositionFile.open(path)
    await first.save('a.b')
    const link = join(folder, 'link')
    symlinkSync(path, link)
    await expect(PositionFile.open(path)).rejects.toThrow(`Another audit follow uses ${path}.`)
    await expect(PositionFile.open(link)).rejects.toThrow(`Another audit follow uses ${link}.`)
    first.close()
    writeFileSync(path, '')
    await expect(PositionFile.open(path)).rejects.toThrow('damaged')
    writeFileSync(path, '{"countersign_audit_position":1,"after":"a.b"}')
    const last = await PositionFile.open(path)
    expect(last.after).toBe('a.b')
    last.close()
  })

  it.each([
    ['an empty file', ''],
    ['half of a file', '{"countersign_audit_position":1,"af'],
    ['another JSON', '{"cursor":"x"}'],
    ['an empty cursor', '{"countersign_audit_position":1,"after":""}'],
    ['one more member', '{"countersign_audit_position":1,"after":"x","url":"y"}'],
    ['a later form', '{"countersign_audit_position":2,"after":"x"}'],
    ['a large file', 'x'.repeat(1_000_000)],
  ])('%s is refused and left as it is', async (_what, text) => {
    writeFileSync(path, text)
    await expect(PositionFile.open(path)).rejects.toThrow(
      `${path} is not a position of audit follow, or it is damaged.`,
    )
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  it('needs a folder, and is none', async () => {
    await expect(PositionFile.open(join(folder, 'none', 'p'))).rejects.toThrow(`There is no folder ${folder}/none.`)
    await expect(PositionFile.open(folder)).rejects.toThrow(`${folder} is not a file.`)
  })
})
