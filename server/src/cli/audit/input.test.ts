import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openBytes, readJson, readText } from './input.js'
import { readKeptNotes } from './kept-notes.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-input-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const failure = (text: string) => ({ exitCode: 1, message: expect.stringContaining(text) })

describe('what cannot be read is named', () => {
  it.each(['folder', 'missing'])('%s', async (what) => {
    const path = what === 'folder' ? folder : join(folder, 'missing')
    await expect(readText(path)).rejects.toMatchObject(failure(`Cannot read ${path}: `))
    const read = async () => {
      for await (const _ of (await openBytes(path)).chunks);
    }
    await expect(read()).rejects.toMatchObject(failure(`Cannot read ${path}: `))
  })

  it('when it is endless', async () => {
    const path = file('long', '')
    // It has no blocks on the disk.
    truncateSync(path, 2 ** 30)
    await expect(readText(path)).rejects.toMatchObject(failure(`${path} is longer than`))
  })
})

it('JSON of another shape is named with the place that is wrong', async () => {
  const schema = z.object({ keys: z.array(z.string()) })
  const fault = (content: string) => readJson(file('k7', content), schema, 'a set').catch(({ message }) => message)
  expect(await fault('[]')).toBe(`${join(folder, 'k7')} is not a set: must be an object.`)
  expect(await fault('{"keys":[1]}')).toMatch(/ is not a set: \/keys\/0 .*\.$/)
})

it('a file that keeps no checkpoint checks nothing, and is refused', async () => {
  for (const content of ['', '\n\n  \n']) {
    const path = file('kept', content)
    await expect(readKeptNotes(path, [], () => true)).rejects.toMatchObject(failure(`${path} has no checkpoint`))
  }
})
