/**
 * A chat model without a network, as gullible as a model can be: it searches for the orders of the request, then does
 * whatever the request or what it found asks for, and says what came of it. All it knows is in the messages, so that a new
 * process goes on where another one was.
 */
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'

export class ScriptedModel extends BaseChatModel {
  constructor() {
    super({})
  }

  _llmType() {
    return 'scripted'
  }

  bindTools() {
    return this
  }

  async _generate(messages) {
    const message = answerTo(messages)
    return { generations: [{ text: message.text, message }] }
  }
}

function answerTo(messages) {
  const request = messages.findLast(HumanMessage.isInstance)
  const results = messages.slice(messages.indexOf(request)).filter(ToolMessage.isInstance)
  if (results.length === 0) return callsOf(searchesFor(request.text), messages)
  if (results.every(({ name }) => name === 'search_orders')) {
    return callsOf(
      [request, ...results].flatMap(({ text }) => wishesIn(text)),
      messages,
    )
  }
  return new AIMessage(results.every(({ status }) => status === 'success') ? 'Done.' : 'I could not do all of it.')
}

function searchesFor(text) {
  return [...text.matchAll(/order (\d+)/g)].map(([, order]) => ({ name: 'search_orders', args: { order } }))
}

function wishesIn(text) {
  const refunds = [...text.matchAll(/refund ([\d.]+) for order (\d+)/gi)]
  const emails = [...text.matchAll(/e-mail (\S+@\S+[a-z]) about it/gi)]
  return [
    ...refunds.map(([, amount, order]) => ({ name: 'refund_order', args: { order, amount: Number(amount) } })),
    ...emails.map(([, to]) => ({ name: 'send_email', args: { to, text: 'Your order' } })),
  ]
}

function callsOf(calls, messages) {
  const tool_calls = calls.map((call, at) => ({ ...call, id: `call_${messages.length}_${at}`, type: 'tool_call' }))
  return new AIMessage({ content: '', tool_calls })
}
