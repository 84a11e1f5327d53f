import { describe, expect, it } from 'vitest'
import { readText, repositoryFiles } from './repository-files.js'

const [, ...boundaries] = readText('docs/threat-model.md').split(/^## /m)

describe('the threat model', () => {
  it('has every boundary', () => {
    expect(boundaries.length).toBe(8)
  })

  it.each(boundaries.map((text) => [text.split('\n')[0], text]))(
    'says what holds %s, and which tests',
    (_, text = '') => {
      const rows = [...text.matchAll(/^\| ([A-Z][a-z ]+) \|/gm)].map(([, row]) => row)
      expect(rows).toEqual(['At stake', 'Attacker', 'Promised', 'Not promised'])
      const tests = [...text.matchAll(/^- `([^`]+)`/gm)].map(([, path = '']) => path)
      expect(tests.length).toBeGreaterThan(2)
      expect(tests.filter((path) => !repositoryFiles.includes(path))).toEqual([])
    },
  )
})
