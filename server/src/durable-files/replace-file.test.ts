import { execFileSync } from 'node:child_process'
import { lstat, mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
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

it('replaces the file behind symbolic links, and makes the one that is not there yet', async () => {
  const link = join(folder, 'link')
  await mkdir(join(folder, 'elsewhere'))
  await symlink('elsewhere/file', path)
  await symlink('file', link)
  for (const content of ['first', 'second']) {
    await replaceFile(link, content)
    expect(await readFile(join(folder, 'elsewhere', 'file'), 'utf8')).toBe(content)
  }
  for (const one of [link, path]) expect((await lstat(one)).isSymbolicLink()).toBe(true)
  expect(await readdir(join(folder, 'elsewhere'))).toEqual(['file'])
})

it.skipIf(process.platform === 'win32')('writes to a pipe, and leaves it there', async () => {
  execFileSync('mkfifo', [path])
  const [read] = await Promise.all([readFile(path, 'utf8'), replaceFile(path, 'new')])
  expect(read).toBe('new')
  expect((await stat(path)).isFIFO()).toBe(true)
  expect(await readdir(folder)).toEqual(['file'])
})
