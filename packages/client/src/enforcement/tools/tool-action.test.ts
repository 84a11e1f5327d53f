import { ActionSchema } from '@countersign/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actionOfTool } from './tool-action.js'

/** Names that differ as little as names can: by case, by what is replaced, by where they are cut. */
const name = fc.oneof(
  fc.string({
    minLength: 1,
    unit: fc.constantFrom('a', 'A', '.', '_', '-', ' ', '/', '*', 'é', 'e\u0301', '\ud800', '\ud801'),
  }),
  fc.string({ minLength: 1, maxLength: 300, unit: 'binary' }),
  fc
    .tuple(fc.constantFrom('a'.repeat(122), 'a.'.repeat(61), '/'.repeat(140)), fc.string({ maxLength: 3 }))
    .map((parts) => parts.join('')),
)
const prefix = fc.constantFrom('tool', 'mcp', 'mcp.github', 'p'.repeat(64))

describe('the action of a tool', () => {
  it('is one that the decision point takes, for any name', () => {
    fc.assert(
      fc.property(name, prefix, (tool, before) => {
        const action = actionOfTool(tool, before)
        expect(ActionSchema.safeParse(action).success, action).toBe(true)
        expect(action.startsWith(`${before}.`)).toBe(true)
        expect(actionOfTool(tool, before)).toBe(action)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is that of no other name, and of no name that others choose to look like it', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 2, maxLength: 20 }), prefix, (tools, before) => {
        const looks = tools.map((tool) => actionOfTool(tool, before).slice(before.length + 1))
        const names = [...new Set([...tools, ...looks])]
        expect(new Set(names.map((tool) => actionOfTool(tool, before))).size).toBe(names.length)
      }),
      { numRuns: 500 },
    )
  })

  it('begins as the name does, so that a pattern matches what it seems to match', () => {
    fc.assert(
      fc.property(
        name,
        fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom('a', 'A', '_', '-') }),
        (tool, start) => {
          // A name that begins with none of the characters of an action is `_.`.
          if (start === '_' && /^[^A-Za-z0-9_-]/.test(tool)) return
          if (actionOfTool(tool, 'tool').startsWith(`tool.${start}`)) expect(tool.startsWith(start)).toBe(true)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it.each([
    ['send_payment', 'tool.send_payment'],
    ['a'.repeat(123), `tool.${'a'.repeat(123)}`],
    ['a'.repeat(124), `tool.${'a'.repeat(90)}.`],
    ['files.read', 'tool.files.read.'],
    ['files/read', 'tool.files.read.'],
    ['github: create issue', 'tool.github.create.issue.'],
    ['../x', 'tool._.x.'],
    ['*', 'tool._.'],
    ['发送', 'tool._.'],
  ])('of %j begins with %s', (tool, expected) => {
    const action = actionOfTool(tool, 'tool')
    if (expected.endsWith('.')) expect(action).toMatch(new RegExp(`^${expected.replaceAll('.', '\\.')}[0-9a-f]{32}$`))
    else expect(action).toBe(expected)
  })

  it.each(['', 'mcp.', '.mcp', 'a..b', 'a b', '*', 'p'.repeat(65)])('has no prefix %j', (before) => {
    expect(() => actionOfTool('send', before)).toThrow(/^the prefix of an action must be words/)
  })
})
