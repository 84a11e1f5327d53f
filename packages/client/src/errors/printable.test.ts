import { describe, expect, it } from 'vitest'
import { printable } from './printable.js'

describe('printable text', () => {
  it('stays on its line, in its colour and direction', () => {
    expect(printable('a\nb\r\u001b[31mc\u2028d\u202ee\ud800')).toBe(
      'a\\u{a}b\\u{d}\\u{1b}[31mc\\u{2028}d\\u{202e}e\\u{d800}',
    )
  })

  it('is bounded', () => {
    expect(printable('a'.repeat(1_000_000)).length).toBeLessThan(500)
  })

  it('shows neither an API key nor a permit, one that is cut off included', () => {
    const permit = `eyJhbGciOiJFZERTQSJ9.${'e'.repeat(80)}.sig`
    expect(printable(`key cs_sk_${'k'.repeat(49)} and ${permit}`)).toBe('key [secret] and [secret]')
    expect(printable(`${'a '.repeat(180)}${permit}`)).not.toContain('eyJ')
  })

  it('shows no secret of a webhook', () => {
    expect(printable(`whsec_${'k+/'.repeat(14)}k= is wrong`)).toBe('[secret] is wrong')
  })

  it('is left as it is otherwise', () => {
    expect(printable('POST /v1/decisions: 401 – “ünauthorized”')).toBe('POST /v1/decisions: 401 – “ünauthorized”')
  })
})
