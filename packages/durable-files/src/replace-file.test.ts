import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { replaceFile } from './replace-file.js'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-replace-'))
  path = join(folder, 'file')
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(folder, { recursive: true })
})

it('leaves the new content, for its owner alone, whatever was there before', async () => {
  const umask = process.umask(0)
  try {
    await writeFile(path, 'old', { mode: 0o666 })
    await replaceFile(path, 'new')
    expect(await readFile(path, 'utf8')).toBe('new')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(folder)).toEqual(['file'])
  } finally {
    process.umask(umask)
  }
})

it('takes content in pieces, and keeps the old one when they do not come to their end', async () => {
  async function* pieces(isWhole: boolean) {
    yield 'new '
    yield Buffer.from('content')
    if (!isWhole) throw new Error('The connection broke.')
  }
  await writeFile(path, 'old')
  await expect(replaceFile(path, pieces(false))).rejects.toThrow('The connection broke.')
  expect([await readFile(path, 'utf8'), await readdir(folder)]).toEqual(['old', ['file']])
  await replaceFile(path, pieces(true))
  expect([await readFile(path, 'utf8'), await readdir(folder)]).toEqual(['new content', ['file']])
})

it('syncs the content before it takes the place, and the folder after', async () => {
  await writeFile(path, 'old')
  const handle = await open(folder)
  const prototype = Object.getPrototypeOf(handle)
  await handle.close()
  const syncs: string[] = []
  const { sync } = prototype
  vi.spyOn(prototype, 'sync').mockImplementation(async function (this: typeof handle) {
    const what = (await this.stat()).isDirectory() ? 'folder' : 'file'
    syncs.push(`${what} while the content is ${await readFile(path, 'utf8')}`)
    await sync.call(this)
  })
  await replaceFile(path, 'new')
  expect(syncs).toEqual(['file while the content is old', 'folder while the content is new'])
})

it('leaves nothing behind when it fails, and removes what a crash left', async () => {
  await mkdir(path)
  await writeFile(`${path}.5e0f3c52.tmp`, 'half')
  await writeFile(`${path}.other`, 'kept')
  await expect(replaceFile(path, 'new')).rejects.toThrow(/EISDIR|ENOTEMPTY/)
  expect((await readdir(folder)).sort()).toEqual(['file', 'file.other'])
})
