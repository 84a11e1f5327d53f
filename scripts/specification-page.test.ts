import { expect, it } from 'vitest'
import { readText } from './repository-files.js'

const PAGE = 'docs/reference/specification.md'
const TESTS = 'server/test/specification.test.ts'

/** The rows of `| section | promise | test |`. */
const rows = readText(PAGE)
  .split('\n')
  .map((line) => /^\| ([\d.]+) \| (.+) \| (\S+\.test\.ts)(?:: (.+))? \|$/.exec(line))
  .filter((match) => match !== null)
  .map(([, section = '', promise = '', file = '', name]) => ({ file, name: name ?? `${section} ${promise}` }))

/** Every line of a table but its head. */
const tableLines = readText(PAGE)
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (Section|---)/.test(line))

function testNames(file: string): string[] {
  return [...readText(file).matchAll(/\b(?:it|test)\(\s*(['"`])(.*?)\1,/gs)].map(([, , name = '']) => name)
}

it('every test that docs/reference/specification.md names exists', () => {
  const missing = rows.filter(({ file, name }) => !testNames(file).includes(name))
  expect(missing).toEqual([])
  expect(rows.length, 'a row names no test').toBe(tableLines.length)
  expect(rows.length).toBeGreaterThan(40)
})

it('docs/reference/specification.md names every test of the specification', () => {
  const named = rows.filter(({ file }) => file === TESTS).map(({ name }) => name)
  expect([...named].sort()).toEqual(testNames(TESTS).sort())
})
