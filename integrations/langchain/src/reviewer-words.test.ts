import { ToolMessage } from '@langchain/core/messages'
import { Command } from '@langchain/langgraph'
import { describe, expect, it } from 'vitest'
import { withWords } from './reviewer-words.js'

const WORDS = 'The reviewer wrote: "fine"'
const BEHIND = `\n\n${WORDS}`
const messageOf = (content: ToolMessage['content']) =>
  new ToolMessage({ content, tool_call_id: 'call-1', name: 'act', artifact: { of: 'the tool' }, status: 'success' })

describe('the words of a reviewer', () => {
  it.each<[string, unknown, unknown]>([
    ['a text', 'paid', `paid${BEHIND}`],
    ['an object', { paid: 7 }, `{"paid":7}${BEHIND}`],
    ['nothing', undefined, BEHIND],
    [
      'a content of parts',
      [{ type: 'text', text: 'paid' }],
      [
        { type: 'text', text: 'paid' },
        { type: 'text', text: WORDS },
      ],
    ],
    ['a list that is no content', [1, 2], `[1,2]${BEHIND}`],
  ])('stand behind %s', (_what, given, shown) => {
    expect(withWords(given, WORDS)).toEqual(shown)
  })

  it('stand in an error that can still be read, whatever its class has', () => {
    const given = new DOMException('took too long', 'TimeoutError')
    const shown = withWords(given, WORDS)
    expect(shown).toMatchObject({ name: 'TimeoutError', message: `took too long${BEHIND}`, cause: given })
    expect(String(shown)).toBe(`TimeoutError: took too long${BEHIND}`)
    expect(given.message).toBe('took too long')
  })

  it('stand in a copy of a message, which is the same else', () => {
    const given = Object.freeze(messageOf('paid'))
    const shown = withWords(given, WORDS)
    expect(ToolMessage.isInstance(shown)).toBe(true)
    expect(shown).toMatchObject({ content: `paid${BEHIND}`, tool_call_id: 'call-1', artifact: { of: 'the tool' } })
    expect((shown as ToolMessage).toJSON()).toMatchObject({ kwargs: { content: `paid${BEHIND}`, name: 'act' } })
    expect(given.content).toBe('paid')
  })

  it('stand in the messages of a command', () => {
    const given = new Command({ goto: 'next', update: { paid: 7, messages: [messageOf('paid')] } })
    const shown = withWords(given, WORDS) as Command
    expect(shown).toBeInstanceOf(Command)
    expect(shown).toMatchObject({ goto: given.goto, update: { paid: 7, messages: [{ content: `paid${BEHIND}` }] } })
    expect(withWords(new Command({ goto: 'next' }), WORDS)).toMatchObject({ goto: given.goto })
  })

  it.each<[string, unknown, unknown]>([
    ['one message', { messages: messageOf('paid') }, { messages: { content: `paid${BEHIND}` } }],
    [
      'pairs',
      [
        ['paid', 7],
        ['messages', [messageOf('paid')]],
      ],
      [
        ['paid', 7],
        ['messages', [{ content: `paid${BEHIND}` }]],
      ],
    ],
    [
      'a message as plain data',
      {
        messages: [
          { role: 'tool', content: 'paid', tool_call_id: 'call-1' },
          { role: 'user', content: 'go' },
        ],
      },
      {
        messages: [
          { role: 'tool', content: `paid${BEHIND}` },
          { role: 'user', content: 'go' },
        ],
      },
    ],
  ])('stand in a command whose update is %s', (_what, update, shown) => {
    expect(withWords(new Command({ update: update as never }), WORDS)).toMatchObject({ update: shown })
  })
})
