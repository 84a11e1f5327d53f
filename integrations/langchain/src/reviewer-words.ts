/** Adds the words of the person who approved a call to the result of its tool, for the model. */
import { plainWithWords } from '@countersign/client/kernel'
import { ToolMessage } from '@langchain/core/messages'

/** The result may be text, parts of a content, a message, a command with messages, an error, or any other value. */
export function withWords(value: unknown, words: string): unknown {
  if (ToolMessage.isInstance(value)) return copyOf(value, { content: withWords(value.content, words) })
  // A class of LangGraph, which a program need not have.
  if (Object(value).lg_name === 'Command')
    return copyOf(Object(value), { update: updateWithWords(Object(value).update, words) })
  return plainWithWords(value, words)
}

/** An update of a graph: an object, or pairs of a channel and its value. */
function updateWithWords(update: unknown, words: string): unknown {
  if (Array.isArray(update))
    return update.map((pair) => (pair?.[0] === 'messages' ? ['messages', messagesWithWords(pair[1], words)] : pair))
  const { messages } = Object(update)
  return messages === undefined ? update : { ...Object(update), messages: messagesWithWords(messages, words) }
}

/** One message or several, as LangGraph takes them. */
function messagesWithWords(messages: unknown, words: string): unknown {
  if (Array.isArray(messages)) return messages.map((message) => messagesWithWords(message, words))
  if (ToolMessage.isInstance(messages)) return withWords(messages, words)
  const { role, type, content } = Object(messages)
  const isPlain = [role, type].includes('tool') && content !== undefined
  return isPlain ? { ...Object(messages), content: withWords(content, words) } : messages
}

/** A copy of the same class. The given object may belong to the tool, and stays unchanged. */
export function copyOf<Given extends object>(given: Given, changes: Readonly<Record<string, unknown>>): Given {
  const own = Object.getOwnPropertyDescriptors(given)
  return Object.create(Object.getPrototypeOf(given), { ...own, ...Object.getOwnPropertyDescriptors(changes) })
}
