import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ERRORS } from '@countersign/contract'
import { describe, expect, it } from 'vitest'

const root = new URL('../../../', import.meta.url)

describe('docs/reference/errors.md', () => {
  it('is what the catalogue says', () => {
    const script = fileURLToPath(new URL('scripts/generate-error-docs.mjs', root))
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  it('has one section for each code, with the code as its anchor', () => {
    const page = readFileSync(new URL('docs/reference/errors.md', root), 'utf8')
    const headings = [...page.matchAll(/^## (.+)$/gm)].map((match) => match[1])
    expect(headings).toEqual(Object.keys(ERRORS))
  })
})

describe('the catalogue', () => {
  it.each(Object.entries(ERRORS))(
    '%s has a stable code, a status of failure, a sentence and a remedy',
    (code, entry) => {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(entry.status).toBeGreaterThanOrEqual(400)
      expect(entry.title).toMatch(/^[A-Z].*\.$/)
      expect(entry.remedy).toMatch(/^[A-Z].*\.$/)
      expect(entry.retryable).toBe(entry.status >= 500 || entry.status === 429)
    },
  )
})
