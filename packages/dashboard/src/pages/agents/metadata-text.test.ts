import { describe, expect, it } from 'vitest'
import { metadataText, readMetadata } from './metadata-text'

describe('metadata as text', () => {
  it('shows what cannot be seen, and is read back as it was', () => {
    const metadata = { team: 'sup\u202eport', flag: '\u{e0001}', name: 'Zoë 東京', list: [1, null, { a: true }] }
    const text = metadataText(metadata)
    expect(text).toContain('sup\\u202eport')
    expect(text).toContain('\\udb40\\udc01')
    expect(text).toContain('Zoë 東京')
    expect(readMetadata(text)).toEqual(metadata)
  })

  it('is an object, or a sentence about what is wrong', () => {
    expect(readMetadata('  ')).toEqual({})
    expect(readMetadata('[1]')).toContain('a JSON object')
    expect(readMetadata('{"a":')).toContain('This is not JSON')
  })
})
