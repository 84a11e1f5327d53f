import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchText } from './fetch-text.js'

let server: Server
let url: string
let answer: (res: ServerResponse) => void
beforeAll(async () => {
  server = createServer((_req, res) => answer(res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/path`
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
})

const FAST = { maxBytes: 10, withinMs: 200 }
const PATIENT = { maxBytes: 10, withinMs: 60_000 }

it('is the whole answer, whatever its status', async () => {
  answer = (res) => res.writeHead(418).end('0123456789')
  expect(await fetchText(url, PATIENT)).toEqual({ status: 418, text: '0123456789', retryAfterSeconds: null })
  answer = (res) => res.writeHead(204, { 'Retry-After': '7' }).end()
  expect(await fetchText(url, PATIENT)).toEqual({ status: 204, text: '', retryAfterSeconds: 7 })
})

it('waits only so long for the head, and for the end', async () => {
  const late = { exitCode: 1, message: `${url} did not answer within 0.2 seconds.` }
  answer = () => {}
  await expect(fetchText(url, FAST)).rejects.toMatchObject(late)
  answer = (res) => res.writeHead(200).write('0')
  await expect(fetchText(url, FAST)).rejects.toMatchObject(late)
})

it('takes only a limited number of bytes, and then hangs up', async () => {
  const hungUp = new Promise((resolve) => {
    answer = (res) => res.on('close', resolve).writeHead(200).write('0123456789a')
  })
  await expect(fetchText(url, PATIENT)).rejects.toMatchObject({ message: `${url} answered more than 10 bytes.` })
  await hungUp
})

it('names the place when the connection breaks', async () => {
  answer = (res) => res.destroy()
  await expect(fetchText(url, PATIENT)).rejects.toMatchObject({ exitCode: 1, message: `${url} does not answer.` })
})
