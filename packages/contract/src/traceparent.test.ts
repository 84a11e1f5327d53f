import { describe, expect, it } from 'vitest'
import { parseTraceparent } from './traceparent.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const known = `00-${TRACE}-${SPAN}-01`

describe('parseTraceparent', () => {
  it.each([
    ['sampled', known, true],
    ['not sampled', `00-${TRACE}-${SPAN}-00`, false],
    ['sampled, with flags of later levels', `00-${TRACE}-${SPAN}-03`, true],
    ['not sampled, with flags of later levels', `00-${TRACE}-${SPAN}-fe`, false],
    ['a future version', `01-${TRACE}-${SPAN}-01`, true],
    ['a future version with more', `cc-${TRACE}-${SPAN}-01-what the future will be like`, true],
    ['a future version with an empty rest', `fe-${TRACE}-${SPAN}-01-`, true],
  ])('reads: %s', (_, text, sampled) => {
    expect(parseTraceparent(text)).toEqual({ traceId: TRACE, parentId: SPAN, sampled })
  })

  it('reads ids that are nearly zero', () => {
    const traceId = `${'0'.repeat(31)}1`
    const parentId = `1${'0'.repeat(15)}`
    expect(parseTraceparent(`00-${traceId}-${parentId}-00`)).toEqual({ traceId, parentId, sampled: false })
  })

  it.each([
    ['nothing', ''],
    ['a trace id alone', TRACE],
    ['the version that no one may use', `ff-${TRACE}-${SPAN}-01`],
    ['an upper case version', `0A-${TRACE}-${SPAN}-01`],
    ['an upper case trace id', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['an upper case span', `00-${TRACE}-${SPAN.toUpperCase()}-01`],
    ['upper case flags', `00-${TRACE}-${SPAN}-0B`],
    ['no hexadecimal digit', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
    ['digits of another script', `00-${TRACE.replace('4', '٤')}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a future version with a trace id of zeros', `01-${'0'.repeat(32)}-${SPAN}-01`],
    ['a short version', `0-${TRACE}-${SPAN}-01`],
    ['a long version', `000-${TRACE}-${SPAN}-01`],
    ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['a long trace id', `00-${TRACE}0-${SPAN}-01`],
    ['a short span', `00-${TRACE}-${SPAN.slice(1)}-01`],
    ['a long span', `00-${TRACE}-${SPAN}0-01`],
    ['short flags', `00-${TRACE}-${SPAN}-1`],
    ['long flags', `00-${TRACE}-${SPAN}-011`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['a known version with more', `${known}-more`],
    ['a known version with an empty rest', `${known}-`],
    ['a future version with more that no dash begins', `01-${TRACE}-${SPAN}-01.more`],
    ['another separator', known.replaceAll('-', '_')],
    ['a space before', ` ${known}`],
    ['a space after', `${known} `],
    ['a line break after', `${known}\n`],
    ['two headers', `${known}, ${known}`],
    ['two headers of a future version', `01-${TRACE}-${SPAN}-01-x, 01-${TRACE}-${SPAN}-01-x`],
  ])('ignores: %s', (_, text) => {
    expect(parseTraceparent(text)).toBeNull()
  })
})
