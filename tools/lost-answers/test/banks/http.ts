import type { Conversation } from '../bank.js'

function answer(status: string, body: object, length?: number): Buffer {
  const text = JSON.stringify(body)
  return Buffer.from(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length ?? text.length}\r\n\r\n${text}`,
  )
}

/** Takes one request of HTTP/1.1 a connection, with a body. */
export function http(): Conversation {
  let text = ''
  let key: string | undefined
  return {
    hear(bytes) {
      text += bytes.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return false
      const [, length] = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end)) ?? []
      const isWhole = length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length)
      if (!isWhole) return false
      key = /\r\nidempotency-key: *(\S+)/i.exec(text.slice(0, end))?.[1]
      text = ''
      return true
    },
    key: () => key,
    answers: () => ({
      cut: answer('200 OK', { id: 're_1' }, 1_000),
      refusal: answer('400 Bad Request', { error: { type: 'invalid_request_error', message: 'no such order' } }),
      unpaid: answer('402 Payment Required', { error: { type: 'card_error', code: 'card_declined', message: 'no' } }),
      conflict: answer('409 Conflict', { error: { type: 'invalid_request_error', message: 'it is locked' } }),
      failure: answer('500 Internal Server Error', { error: { type: 'api_error', message: 'it broke' } }),
      failureBehind: answer('502 Bad Gateway', {
        error: { code: 'ECONNREFUSED', syscall: 'connect', message: 'connect ECONNREFUSED 127.0.0.1:1' },
      }),
    }),
  }
}
