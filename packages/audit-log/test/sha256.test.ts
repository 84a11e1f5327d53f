import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import * as node from '#audit-log/sha256/node'
import * as portable from '#audit-log/sha256/portable'

it('is the same in Node and in a browser', () => {
  for (let length = 0; length < 200; length += 1) {
    const bytes = new Uint8Array(randomBytes(length))
    expect(Buffer.from(portable.sha256(bytes))).toEqual(Buffer.from(node.sha256(bytes)))
    const text = bytes.toString()
    expect(Buffer.from(portable.sha256(text))).toEqual(Buffer.from(node.sha256(text)))
    expect(portable.sha256Text(text)).toBe(node.sha256Text(text))
    const [one, other] = [bytes.subarray(0, length / 2), bytes.subarray(length / 2)].map((part) =>
      Buffer.from(part).toString('base64url'),
    ) as [string, string]
    expect(portable.sha256Joined(one, other)).toBe(node.sha256Joined(one, other))
    expect(Buffer.from(node.sha256Joined(one, other), 'base64url')).toEqual(Buffer.from(node.sha256(bytes)))
  }
  expect(portable.sha256Text('Zoë 退款 😀')).toBe(node.sha256Text('Zoë 退款 😀'))
})
