/** Responses of a server by ids that its client has not asked by: they reach nobody, on any stream. */
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { callMessage, messagesOf, openSession, post, proxyOf, serve } from './http-rig.js'
import { say, useRig } from './rig.js'

const rig = useRig()

const event = (message: object, id = ''): string => `${id}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const UNASKED = [
  event({ id: 99, result: say('of 99') }),
  event({ id: '1', result: say('of "1"') }),
  event({ id: 'lists', result: { tools: [] } }),
  event({ id: 98, error: { code: 1, message: 'of 98' } }),
].join('')
const NOTE = { method: 'notifications/message', params: { level: 'info', data: 'a note' } }
const shownNote = expect.objectContaining(NOTE)

/** A server with one session, whose streams bring what it was not asked for. @param tell what comes behind */
function serveUnasked(tell: (response: ServerResponse, id: unknown) => string) {
  return serve(async (request, response) => {
    const { id, method } = JSON.parse((await request.toArray()).join('') || '{}')
    const isOpening = method === 'initialize'
    response.writeHead(id === undefined && request.method === 'POST' ? 202 : 200, {
      'content-type': isOpening ? 'application/json' : 'text/event-stream',
      'mcp-session-id': 'session-1',
    })
    const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }
    if (isOpening) response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    else response.end(id === undefined && request.method === 'POST' ? '' : UNASKED + event(NOTE) + tell(response, id))
  })
}

const answered = (_response: ServerResponse, id: unknown): string => event({ id, result: say('did it') })

it.each([
  ['in a session', true],
  ['without a session', false],
])('behind a call the client gets its own response alone: %s', async (_name, hasSession) => {
  const { url } = await proxyOf(rig(), (await serveUnasked(answered)).url)
  const headers = hasSession ? { 'mcp-session-id': await openSession(url) } : {}
  const text = await (await post(url, callMessage(1), headers)).text()
  expect(messagesOf(text)).toEqual([shownNote, expect.objectContaining({ id: 1, result: expect.anything() })])
  expect(await rig().statuses()).toEqual(['confirmed'])
})

it('a call that has no response gets an error of its own', async () => {
  const { url } = await proxyOf(rig(), (await serveUnasked(() => '')).url)
  const text = await (await post(url, callMessage(1))).text()
  expect(messagesOf(text)).toEqual([shownNote, expect.objectContaining({ id: 1, error: expect.anything() })])
  expect(await rig().statuses()).toEqual(['authorized'])
})

it('a stream of what belongs to no request brings none', async () => {
  const { url } = await proxyOf(rig(), (await serveUnasked(() => '')).url)
  const headers = { accept: 'text/event-stream', 'mcp-session-id': await openSession(url) }
  expect(messagesOf(await (await fetch(url, { headers })).text())).toEqual([shownNote])
  const headersOfNone = { accept: 'text/event-stream' }
  expect(messagesOf(await (await fetch(url, { headers: headersOfNone })).text())).toEqual([shownNote])
})

it('a stream without a session that is taken up brings answers only where all clients are one agent', async () => {
  const clients = [{ agent_id: rig().agentId, token_sha256: createHash('sha256').update('token').digest('hex') }]
  const upstream = await serveUnasked(() => '')
  const headers = { accept: 'text/event-stream', 'last-event-id': '1', authorization: 'Bearer token' }
  const { url: ofMany } = await proxyOf(rig(), upstream.url, { config: { clients } })
  expect(messagesOf(await (await fetch(ofMany, { headers })).text())).toEqual([shownNote])
  const { url: ofOne } = await proxyOf(rig(), upstream.url)
  expect(messagesOf(await (await fetch(ofOne, { headers })).text())).toHaveLength(5)
})

it('an error without an id passes: its request is unknown', async () => {
  const error = { code: -32700, message: 'Parse error' }
  const { url } = await proxyOf(rig(), (await serveUnasked(() => event({ id: null, error }))).url)
  const text = await (await post(url, callMessage(1))).text()
  expect(messagesOf(text)).toEqual([
    shownNote,
    { jsonrpc: '2.0', id: null, error },
    expect.objectContaining({ id: 1, error: expect.anything() }),
  ])
})
