import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashOfText, sha256 } from './sha256.js'

describe('SHA-256', () => {
  it('is that of Node, of whatever length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'))
      }),
      { numRuns: 300 },
    )
    for (const length of [0, 55, 56, 63, 64, 119, 120, 100_000]) {
      const bytes = new Uint8Array(length).fill(length)
      expect(sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'))
    }
  })

  it('of a text is what a shell says of its JSON', () => {
    const named = (json: string) => createHash('sha256').update(json).digest('hex')
    expect(hashOfText('files.read')).toBe(named('"files.read"'))
    expect(hashOfText('发送')).toBe(named('"发送"'))
  })

  it('tells halves of surrogate pairs apart', () => {
    expect(new Set(['\ud800', '\ud801', '\ufffd', '\\ud800'].map(hashOfText)).size).toBe(4)
  })
})
