import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import helmet from 'helmet'
import { expect, test } from 'vitest'
import { headOf, SECURITY_HEADERS } from './send.js'

test('the security headers are those of helmet', () => {
  const req = new IncomingMessage(new Socket())
  const res = new ServerResponse(req)
  const nothing = ["'none'"]
  const directives = { defaultSrc: nothing, baseUri: nothing, formAction: nothing, frameAncestors: nothing }
  helmet({ contentSecurityPolicy: { useDefaults: false, directives } })(req, res, () => {})
  const names = Object.fromEntries(Object.keys(SECURITY_HEADERS).map((name) => [name.toLowerCase(), name]))
  const set = Object.entries(res.getHeaders()).map(([name, value]) => [names[name] ?? name, value])
  expect(Object.fromEntries(set)).toEqual(SECURITY_HEADERS)
})

test('a reply’s own headers take the place of those that every response has', () => {
  const head = headOf({ 'Cache-Control': 'public', 'Content-Security-Policy': 'sandbox', ETag: '"1"' }, 'req_1')
  const pairs = head.flatMap((name, i) => (i % 2 === 0 ? [[name, head[i + 1]] as const] : []))
  expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length)
  expect(Object.fromEntries(pairs)).toEqual({
    ...SECURITY_HEADERS,
    'Cache-Control': 'public',
    'Content-Security-Policy': 'sandbox',
    ETag: '"1"',
    'X-Request-Id': 'req_1',
  })
})
