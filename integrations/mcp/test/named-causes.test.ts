/** What a model is told of a call that the decision point does not take: the cause, so that it can change the call. */
import { describe, expect, it } from 'vitest'
import { toolGate } from '../src/gate-options.js'
import { MessageGate } from '../src/messages/message-gate.js'
import { toolMapping } from '../src/proxy/json-mapping.js'
import { useRig } from './rig.js'

const rig = useRig()

/** All that the client is told in answer to this request. */
async function answerTo(method: string, params: object): Promise<string> {
  const allow = toolMapping({ action: 't.allow', resource: 'order:{id}', context: 'arguments' })
  return new Promise((resolve) => {
    const ways = {
      toServer: () => expect.fail('it was not refused'),
      toClient: () => expect.fail('it was not refused'),
      answer: (message: object) => resolve(JSON.stringify(message)),
      answerServer: () => undefined,
    }
    const gate = new MessageGate(toolGate('gateTransport', rig().options({ map: { allow }, others: 'map' })), ways)
    gate.fromClient({ jsonrpc: '2.0', id: 1, method, params }, undefined)
  })
}

const call = (args: object): Promise<string> => answerTo('tools/call', { name: 'allow', arguments: args })

function nested(depth: number): object {
  return depth === 0 ? {} : { a: nested(depth - 1) }
}

describe('a call names what is wrong with it', () => {
  it.each([
    ['a context of 70 KB', { id: 1, text: 'x'.repeat(70_000) }, 'is too large: a decision takes at most 64 KiB'],
    ['a context of 40,000 letters of two bytes', { id: 1, text: 'ä'.repeat(40_000) }, 'is too large'],
    ['a context of 70,000 values', { id: 1, list: Array.from({ length: 70_000 }, () => 0) }, 'more than 65536 values'],
    [
      'a context of 20 levels',
      { id: 1, deep: nested(20) },
      'In this call, objects and arrays are nested more than 16 deep.',
    ],
    ['a context of 70 levels', { id: 1, deep: nested(70) }, 'is nested too deep'],
    ['a name of the context that is too long', { id: 1, ['n'.repeat(200)]: 1 }, 'The context of this call '],
    ['an id that is not in NFC', { id: 'e\u0301' }, 'The resource of this call must be in Unicode form NFC'],
    ['an id that is too long', { id: 'x'.repeat(600) }, 'The resource of this call must have'],
  ])('%s', async (_what, args, words) => {
    const answer = await call(args)
    expect(answer).toContain(words)
    expect(answer).toMatch(/"text":"The call did not run\. .*"isError":true/)
  })

  it.each([
    ['prompts/get', { name: 'e\u0301' }, 'The name of this call is not in Unicode form NFC.'],
    ['prompts/get', { name: 'a\u200b' }, 'The name of this call has control or invisible characters.'],
    ['prompts/get', { name: '' }, 'The name of this call is empty.'],
    ['prompts/get', { name: 'x'.repeat(600) }, 'comes from prompts/get, and has more than 512 characters.'],
    ['resources/read', { uri: 'hr://e\u0301' }, 'The uri of this call is not in Unicode form NFC.'],
    ['resources/read', { uri: 'hr://a\u200b' }, 'The uri of this call has control or invisible characters.'],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'hr://e\u0301' } }, 'is not in Unicode form NFC.'],
    ['acme/e\u0301xport', {}, 'The method of this call is not in Unicode form NFC.'],
    ['acme/export', { text: 'x'.repeat(70_000) }, 'is too large: a decision takes at most 64 KiB'],
  ])('%s of %j', async (method, params, words) => {
    expect(await answerTo(method, params)).toContain(words)
  })
})
