import { answerProblem, answerText, type StubAnswer } from '@countersign/testkit'
import { expect, it } from 'vitest'
import type { Countersign } from '../src/index.js'
import { API_KEY, describeTransports, rejectionOf } from './transports.js'

const head = { 'content-type': 'application/x-ndjson' }
const answerLines = (text: string) => answerText(200, text, head)

/** Each part is sent when the one before has left. */
function answerParts(parts: readonly (string | Uint8Array)[], isWhole = true): StubAnswer {
  return async (_request, response) => {
    response.writeHead(200, head)
    for (const part of parts) await new Promise((resolve) => response.write(part, resolve))
    if (isWhole) response.end()
    else response.destroy()
  }
}

async function linesOf(client: Countersign): Promise<string[]> {
  const lines: string[] = []
  for await (const line of client.audit.export()) lines.push(new TextDecoder().decode(line))
  return lines
}

describeTransports('audit.export', (rig) => {
  it('yields each line as it was sent, wherever the network cuts', async () => {
    const { stub, open } = rig()
    const bytes = new TextEncoder().encode('{"a":"é"}\n{"b":2}\n')
    for (const cuts of [[], [7], [8], [9], [10], [1, 10, 17], bytes.keys()]) {
      const ends = [...cuts, bytes.length]
      stub.answer(
        answerParts(ends.map((end, i) => bytes.slice(ends[i - 1] ?? 0, end)).filter(({ length }) => length > 0)),
      )
      expect(await linesOf(open())).toEqual(['{"a":"é"}', '{"b":2}'])
    }
    const [request] = stub.requests
    expect(request).toMatchObject({ method: 'GET', url: '/v1/audit/export' })
    expect(request?.headers).toMatchObject({ accept: 'application/x-ndjson', authorization: `Bearer ${API_KEY}` })
    stub.answer(answerLines(''))
    expect(await linesOf(open())).toEqual([])
  })

  it('never passes off a part for the whole', async () => {
    const { stub, open } = rig()
    stub.answer(answerLines('{"a":1}\n{"b":'))
    expect(await rejectionOf(linesOf(open()))).toMatchObject({ name: 'UnavailableError', kind: 'bad_answer' })
    stub.answer(answerParts(['{"a":1}\n'], false))
    expect(await rejectionOf(linesOf(open()))).toMatchObject({ name: 'UnavailableError', kind: 'connection' })
    stub.answer(answerText(200, '{"a":1}\n', { 'content-type': 'application/json' }))
    expect(await rejectionOf(linesOf(open()))).toMatchObject({ name: 'UnavailableError', kind: 'bad_answer' })
    stub.answer(answerProblem(403, 'missing_scope'))
    expect(await rejectionOf(linesOf(open()))).toMatchObject({ name: 'ApiError', code: 'missing_scope' })
  })

  it('holds no line that is too long', async () => {
    const { stub, open } = rig()
    stub.answer(answerLines(`${'a'.repeat(4 * 1024 * 1024 + 1)}\n`))
    expect(await rejectionOf(linesOf(open()))).toMatchObject({ kind: 'bad_answer' })
  })

  it('asks for nothing before the first line is asked for, and ends with the signal', async () => {
    const { stub, open } = rig()
    stub.answer(answerLines('{"a":1}\n{"b":2}\n'))
    const controller = new AbortController()
    const lines = open().audit.export({ signal: controller.signal })
    expect(stub.connectionCount()).toBe(0)
    await lines.next()
    controller.abort(new Error('enough'))
    expect(await rejectionOf(lines.next())).toMatchObject({ message: 'enough' })
  })
})
