/** A command that cannot do what it was asked says what to do, in a sentence and without a stack. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countersign, newDirectory, removeDirectories } from './shipped-server.js'

let data: string
const noData = () => join(data, 'none')
const inUse = () => join(data, 'in-use')

beforeAll(() => {
  data = newDirectory()
  mkdirSync(inUse())
  writeFileSync(join(inUse(), 'countersign.db'), 'not a database')
})
afterAll(removeDirectories)

const CASES: readonly (readonly [command: string, dataDir: () => string, sentence: string])[] = [
  ['signing-keys list', noData, 'There is no server data in'],
  ['keys create', noData, 'There is no server data in'],
  ['audit accept-rewrite', noData, 'There is no server data in'],
  ['audit export --offline', noData, 'There is no server data in'],
  ['clock confirm', noData, 'There is no server data in'],
  ['backup copy.db', noData, 'There is no server data in'],
  ['backup /missing/copy.db', inUse, '/missing'],
  ['signing-keys list', inUse, 'There are no signing keys in'],
  ['restore /missing.db', noData, '/missing.db'],
  ['restore package.json', noData, 'is not a usable backup'],
  ['restore package.json', inUse, 'in-use'],
]

it.each(CASES)('%s', async (command, dataDir, sentence) => {
  const child = countersign(command.split(' '), { env: { DATA_DIR: dataDir() } })
  const { code } = await child.end()
  const said = JSON.parse(child.stderr)
  expect(said).toEqual({ level: 'fatal', time: said.time, msg: expect.stringContaining(sentence) })
  expect(code).toBe(1)
})
