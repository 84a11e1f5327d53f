import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { canonicalEntry, type HashableEntry, leafHash } from './leaf.js'

const entry: HashableEntry = {
  id: 'aud_01kagx5v5ne8sr6w1y6gqk4t2h',
  log: 'a1',
  index: 12,
  at: '2026-11-21T10:00:05.120Z',
  type: 'decision.created',
  actor: 'key_01kagx2v5ne8sr6w1y6gqk4t2h',
  subject: 'dec_01kagx5v5ne8sr6w1y6gqk4t2h',
  agent_id: 'agent:support-7',
  data: { effect: 'allow', amount: 42.5, rule: 0, resource: 'kunde:Zoë', budgets: [], '\u{1f600}': 1, '\ufb33': 2 },
}

const CANONICAL =
  '{"actor":"key_01kagx2v5ne8sr6w1y6gqk4t2h","agent_id":"agent:support-7","at":"2026-11-21T10:00:05.120Z",' +
  '"data":{"amount":42.5,"budgets":[],"effect":"allow","resource":"kunde:Zoë","rule":0,"\u{1f600}":1,"\ufb33":2},' +
  '"id":"aud_01kagx5v5ne8sr6w1y6gqk4t2h","index":12,"log":"a1","subject":"dec_01kagx5v5ne8sr6w1y6gqk4t2h",' +
  '"type":"decision.created"}'

describe('an entry', () => {
  test('has one form, in UTF-8, whatever the order of its members', () => {
    expect(Buffer.from(canonicalEntry(entry)).toString('utf8')).toBe(CANONICAL)
    const reversed = Object.fromEntries(Object.entries(entry).reverse()) as unknown as HashableEntry
    expect(canonicalEntry(reversed)).toEqual(canonicalEntry(entry))
  })

  test('with its leaf is written with its leaf', () => {
    expect(Buffer.from(canonicalEntry({ ...entry, leaf: 'L' })).toString()).toBe(
      CANONICAL.replace('"log"', '"leaf":"L","log"'),
    )
  })

  test('holds nothing that JSON cannot', () => {
    expect(() => canonicalEntry({ ...entry, data: { amount: Number.NaN } })).toThrow()
    expect(() => canonicalEntry({ ...entry, subject: '\ud800' })).toThrow()
  })
})

describe('a leaf hash', () => {
  test('is the one that anyone can compute', () => {
    // (printf '\0'; printf '%s' '<the canonical form above>') | openssl sha256 -binary | basenc --base64url | tr -d =
    expect(leafHash(entry)).toBe('kKIur1MQNoEIJ7z0Gw-3JK85LdYfgvm35Xb_Ri0T6tE')
    expect(leafHash(entry)).toBe(createHash('sha256').update(`\0${CANONICAL}`).digest('base64url'))
  })

  test('is the same once it is written into the entry', () => {
    expect(leafHash({ ...entry, leaf: leafHash(entry) })).toBe(leafHash(entry))
  })

  test('is not the hash of the entry alone, so that a node cannot pass for a leaf', () => {
    expect(leafHash(entry)).not.toBe(createHash('sha256').update(canonicalEntry(entry)).digest('base64url'))
  })

  test.each([
    ['id', { id: 'aud_2' }],
    ['log', { log: 'a2' }],
    ['index', { index: 13 }],
    ['at', { at: '2026-11-21T10:00:05.121Z' }],
    ['type', { type: 'decision.redeemed' as const }],
    ['actor', { actor: null }],
    ['subject', { subject: 'dec_2' }],
    ['agent_id', { agent_id: null }],
    ['data', { data: {} }],
  ])('changes with %s', (_, changes) => {
    expect(leafHash({ ...entry, ...changes })).not.toBe(leafHash(entry))
  })
})
