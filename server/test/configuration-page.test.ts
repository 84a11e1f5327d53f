import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { ConfigError, readConfig } from '#server/config'

const page = await readFile(new URL('../../docs/reference/configuration.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (.*?) \| (.*) \|$/gm)].map(
  ([, name = '', fallback, about = '']) => ({
    name,
    fallback: fallback === 'none' ? '' : /^`([^`<]*)`$/.exec(fallback ?? '')?.[1],
    range: /\b(\d+) to (\d+)\b/.exec(about)?.slice(1).map(Number),
    isNumber: /^`\d+`$/.test(fallback ?? ''),
  }),
)

it('docs/reference/configuration.md has every variable that is read, and no other', () => {
  const read = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }))
  expect(rows.map(({ name }) => name).sort()).toEqual([...read].sort())
})

it.each(rows.filter(({ fallback }) => fallback !== undefined))('the default of $name is as the page says', (row) => {
  expect(readConfig({ [row.name]: row.fallback })).toEqual(readConfig({}))
})

it.each(rows.filter(({ isNumber }) => isNumber))('the range of $name is as the page says', ({ name, range }) => {
  const [min = Number.NaN, max = Number.NaN] = range ?? []
  for (const value of [min, max]) expect(() => readConfig({ [name]: `${value}` })).not.toThrow()
  for (const value of [min - 1, max + 1]) expect(() => readConfig({ [name]: `${value}` })).toThrow(ConfigError)
})
